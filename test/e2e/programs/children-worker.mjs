/**
 * Runs a parent of many children for a server, until it is killed or all is done. It says which children it has, by key and
 * id, and which of them it runs.
 */
import { FlowFabric } from "../../../dist/index.js";

const [url, count] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);
const ff = FlowFabric.connect(url);
const worker = ff.worker({ concurrency: 8, leaseMs: 500 });
worker.handle("parent", async (ctx) => {
	for (let n = 0; n < Number(count); n++) {
		const { id } = await ctx.submitChild(`c${n}`, "child", n);
		say(`has c${n} ${id}`);
	}
	const children = await ctx.waitForChildren();
	say(`waited ${children.length}`);
	await ctx.submitChild("last", "child", 0);
	const [last] = await ctx.waitForChildren({ keys: ["last"] });
	return children.reduce((sum, { result }) => sum + result, last.result);
});
worker.handle("child", (_ctx, n) => {
	say(`ran ${n}`);
	return n;
});
await worker.start();
const { id } = await ff.submit("parent", undefined, { idempotencyKey: "the one" });
await ff.result(id);
await ff.close();
