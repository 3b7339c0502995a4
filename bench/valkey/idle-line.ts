import { setTimeout as sleep } from "node:timers/promises";
import type { Line } from "../report.ts";
import { openOn, type ValkeyBench } from "./valkey-bench.ts";

const PARTITIONS = 256;
const WORKERS = 10;
const SETTLE_MS = 5000;

/** What an engine asks of the server while workers wait and nothing happens. */
export async function valkeyIdleLine({ server, idleMs }: Pick<ValkeyBench, "server" | "idleMs">): Promise<Line> {
	const { ff, close } = await openOn(server, PARTITIONS);
	for (let n = 0; n < WORKERS; n++) {
		const worker = ff.worker({ concurrency: 4, handleSignals: false });
		worker.handle("noop", async () => null);
		await worker.start();
	}
	await sleep(SETTLE_MS);
	const before = await server.functionCalls();
	const startedAt = performance.now();
	await sleep(idleMs);
	const { calls } = await server.functionCalls();
	const figure = (calls - before.calls) / ((performance.now() - startedAt) / 1000);
	const run = await ff.submit("noop");
	const { publicState } = await run.wait({ timeoutMs: 10_000 });
	await close();
	if (publicState !== "completed") throw new Error("a submit woke nobody");
	return {
		scenario: `idle for ${Math.round(idleMs / 1000)} s: ${WORKERS} workers`,
		store: "valkey",
		partitions: PARTITIONS,
		figure,
		unit: "calls/s",
		against: { name: "allowed", figure: 2, ratio: figure / 2, wanted: "< 1" },
	};
}
