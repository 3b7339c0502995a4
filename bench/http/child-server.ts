import { pino } from "pino";
import { host } from "../../src/cli/hosting.ts";
import { countBlobCommits } from "../limits/blob-commits.ts";
import type { ServerUsage } from "./child.ts";

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
	// What nobody holds any more is no use of memory; looking for it takes a while.
	if (asked === "memory") globalThis.gc?.();
	const { user, system } = process.cpuUsage();
	const { heapUsed, external, rss } = process.memoryUsage();
	const usage: ServerUsage = {
		cpuMicros: user + system,
		blobCommits: blobCommits(),
		liveBytes: heapUsed + external,
		residentBytes: rss,
	};
	process.send?.({ usage });
});
process.send?.({ address: hosted.address });
