/**
 * Runs a handler of many steps for a server, until it is killed or all is done. It says which step it runs before it does,
 * and which it has recorded after.
 */
import { FlowFabric } from "../../../dist/index.js";

const [url, steps] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);
const ff = FlowFabric.connect(url);
const worker = ff.worker({ concurrency: 1, leaseMs: 500 });
worker.handle("steps", async ({ step }) => {
	let sum = 0;
	for (let n = 0; n < Number(steps); n++) {
		sum += await step("add", () => {
			say(`ran ${n}`);
			return n;
		});
		say(`kept ${n}`);
	}
	return sum;
});
await worker.start();
const { id } = await ff.submit("steps", undefined, { idempotencyKey: "the one" });
await ff.result(id);
await ff.close();
