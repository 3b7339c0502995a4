import { pino } from "pino";
import { host } from "../../src/cli/hosting.ts";

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
process.on("message", async (asked: "usage" | "close") => {
	if (asked === "usage") process.send?.({ usage: process.cpuUsage() });
	else {
		await hosted.close();
		process.disconnect();
	}
});
process.send?.({ address: hosted.address });
