/**
 * Submits and works over one store until it is killed. Every submission that was acknowledged is reported on
 * standard output before the next is made; with `--drain` it submits nothing and ends when all work has ended.
 */
import { FlowFabric, RetryAfter } from "../../../dist/index.js";

const [url, partitions, mode] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);
const ff = await FlowFabric.open(url, { partitions: Number(partitions) });
const worker = ff.worker({ concurrency: 8, leaseMs: 500, lanes: ["default", "other"] });
worker.handle("plain", async (_context, input) => ({ got: input.n }));
worker.handle("flaky", async ({ attempt }) => {
	if (attempt.type === "initial") throw new RetryAfter(20, "once more");
	return "second time";
});
worker.handle("slow", async ({ progress }) => {
	await new Promise((resolve) => setTimeout(resolve, 30));
	await progress({ percent: 100 });
	return "done";
});
await worker.start();
say("ready");

if (mode === "--drain") {
	// Several times, as something may move from one state to another behind the back of whoever asks for them in turn.
	for (let empty = 0; empty < 3; empty++) {
		const states = ["waiting", "delayed", "active"];
		const pages = await Promise.all(states.map((state) => ff.list({ state, limit: 1 })));
		if (pages.some((page) => page.executions.length > 0)) empty = -1;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
	await ff.close();
	say("drained");
} else {
	const run = process.pid;
	const submitter = async (name, lane) => {
		for (let n = 0; ; n++) {
			const kind = ["plain", "flaky", "slow"][n % 3];
			const key = n % 4 === 0 ? { idempotencyKey: `${run}-${name}-${n}` } : {};
			const submitted = await ff.submit(kind, { n }, { lane, ...key, policy: { retry: { maxRetries: 5 } } });
			say(`ack ${submitted.id}`);
			if (n % 16 === 15) await submitted.wait();
		}
	};
	await Promise.all([submitter("a", "default"), submitter("b", "other"), submitter("c", "default")]);
}
