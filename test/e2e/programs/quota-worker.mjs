/** Works for a server, or with an engine of its own on a store, until it is killed, saying what it has begun. */
import { FlowFabric } from "../../../dist/index.js";

const [url, partitions] = process.argv.slice(2);
const ff = url.startsWith("http:")
	? FlowFabric.connect(url)
	: await FlowFabric.open(url, { partitions: Number(partitions) });
const worker = ff.worker({ concurrency: 4, leaseMs: 1000 });
worker.handle("call", async ({ execution }) => {
	process.stdout.write(`began ${execution.id}\n`);
	await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 300));
	return "done";
});
await worker.start();
process.stdout.write("ready\n");
