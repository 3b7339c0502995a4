import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Queue, Worker } from "bullmq";
import { Redis } from "iovalkey";
import { CONCURRENCY, SUBMITTERS } from "../scenarios/lifecycle.ts";
import { payload } from "../target.ts";

/** Another engine for the same work on the same server. */
export interface Peer {
	name: string;
	/** Lifecycles per second, from the first submit to the last completion. */
	lifecycle(count: number): Promise<number>;
	close(): Promise<void>;
}

/** With the driver FlowFabric uses, in the same process; whatever else is as it comes. */
export async function openBullMq(url: string): Promise<Peer> {
	// BullMQ takes any client with the interface of ioredis, which iovalkey has.
	const connections = [1, 2].map(() => new Redis(url, { maxRetriesPerRequest: null }));
	const [ofQueue, ofWorker] = connections as unknown as [never, never];
	const queue = new Queue("bench", { connection: ofQueue });
	let left = 0;
	let finish = () => {};
	const worker = new Worker("bench", async () => ({ ok: true }), { connection: ofWorker, concurrency: CONCURRENCY });
	worker.on("completed", () => {
		left -= 1;
		if (left === 0) finish();
	});
	await worker.waitUntilReady();
	return {
		name: `BullMQ ${version()}`,
		async lifecycle(count) {
			left = count;
			const finished = new Promise<void>((resolve) => (finish = resolve));
			const startedAt = performance.now();
			let submitted = 0;
			const submitter = async () => {
				while (submitted < count) await queue.add("noop", payload(submitted++));
			};
			await Promise.all(Array.from({ length: SUBMITTERS }, submitter));
			await finished;
			return count / ((performance.now() - startedAt) / 1000);
		},
		async close() {
			await worker.close();
			await queue.close();
			for (const connection of connections) connection.disconnect();
		},
	};
}

function version(): string {
	const main = createRequire(import.meta.url).resolve("bullmq");
	const manifest = `${main.slice(0, main.lastIndexOf("/bullmq/"))}/bullmq/package.json`;
	return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}
