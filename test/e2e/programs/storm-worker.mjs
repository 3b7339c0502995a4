/** Works for a server until SIGTERM, saying what it has finished; short leases, so that an outage costs some. */
import { FlowFabric, RetryAfter } from "../../../dist/index.js";

const [url] = process.argv.slice(2);
const ff = FlowFabric.connect(url);
const worker = ff.worker({ concurrency: 8, leaseMs: 1000, lanes: ["default", "default2", "other"] });
const finished = (id, result) => {
	process.stdout.write(`ran ${id}\n`);
	return result;
};
worker.handle("plain", async ({ execution }, input) => finished(execution.id, { got: input.n }));
worker.handle("flaky", async ({ attempt, execution }) => {
	if (attempt.type === "initial") throw new RetryAfter(20, "once more");
	return finished(execution.id, "second time");
});
worker.handle("slow", async ({ progress, execution }) => {
	await new Promise((resolve) => setTimeout(resolve, 30));
	await progress({ percent: 100 });
	return finished(execution.id, "done");
});
await worker.start();
process.stdout.write("ready\n");
