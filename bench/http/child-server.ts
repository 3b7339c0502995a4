import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { host } from "../../src/cli/hosting.ts";
import { countBlobCommits } from "../limits/blob-commits.ts";
import type { ServerUsage } from "./child.ts";

const LOOKS = 10;
const LOOK_PAUSE_MS = 20;

/** The server to be measured, in a process of its own: says where it listens, what it has used when asked, ends when told. */
const [store = "memory:", partitions = "1"] = process.argv.slice(2);
const hosted = await host(
	{
		store,
		partitions: Number(partitions),
		retentionMs: 86_400_000,
		listen: { host: "127.0.0.1", port: 0 },
		openMetrics: false,
	} as never,
	pino({ level: "silent" }),
);
const blobCommits = countBlobCommits(hosted.backend.engine.store);
process.on("message", async (asked: "usage" | "memory" | "close") => {
	if (asked === "close") {
		await hosted.close();
		process.disconnect();
		return;
	}
	const { user, system } = process.cpuUsage();
	const usage: ServerUsage = {
		cpuMicros: user + system,
		blobCommits: blobCommits(),
		liveBytes: asked === "memory" ? await heldBytes() : 0,
		residentBytes: process.memoryUsage().rss,
	};
	process.send?.({ usage });
});
process.send?.({ address: hosted.address });

/** In the heap and beside it, without what nobody holds any more. While requests come the least of several looks tells most. */
async function heldBytes(): Promise<number> {
	let least = Number.POSITIVE_INFINITY;
	for (let look = 0; look < LOOKS; look++) {
		globalThis.gc?.();
		await sleep(LOOK_PAUSE_MS);
		const { heapUsed, external } = process.memoryUsage();
		least = Math.min(least, heapUsed + external);
	}
	return least;
}
