/**
 * Works for a server on every kind of `everything-asker.mjs` until SIGTERM. Each line it says was acknowledged to it:
 *
 *   kept <execution> <step> <value>     a step and what was recorded of it
 *   framed <execution> <text,…>         frames of the stream
 *   ran <execution>                     a handler came to its end (its result is on its way)
 */
import { randomUUID } from "node:crypto";
import { FlowFabric, RetryAfter } from "../../../dist/index.js";

const [url, leaseMs] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);
const ff = FlowFabric.connect(url);
const worker = ff.worker({ concurrency: 8, leaseMs: Number(leaseMs), lanes: ["default", "flows"] });

const ran = (id, result) => {
	say(`ran ${id}`);
	return result;
};

/** A step whose value tells by which run it was made. */
async function keep({ step, execution }, name) {
	const value = await step(name, () => randomUUID());
	say(`kept ${execution.id} ${name} ${value}`);
	return value;
}

worker.handle("guarded", async (ctx, { tokens }) => {
	await ctx.progress({ percent: 50 });
	// Told again by a later run it is the same report.
	await ctx.usage("team", { tokens }, { dedupKey: ctx.execution.id });
	await ctx.usage("trickle", { calls: 1 }, { dedupKey: ctx.execution.id });
	return ran(ctx.execution.id, tokens);
});

worker.handle("asking", async (ctx) => {
	const draft = await keep(ctx, "draft");
	const { approved, payload } = await ctx.waitForApproval("approval");
	const sent = await keep(ctx, "sent");
	return ran(ctx.execution.id, { approved, payload, draft, sent });
});

worker.handle("streaming", async (ctx) => {
	// A handler that starts again in the same attempt writes into the same stream: its frames are its own.
	const run = randomUUID();
	for (let part = 0; part < 3; part++) {
		const texts = [0, 1].map((n) => `${run}.${part}.${n}`);
		for (const text of texts) await ctx.stream.write(text);
		await ctx.stream.summary({ [`part${part}`]: run });
		await ctx.stream.flush();
		say(`framed ${ctx.execution.id} ${texts.join(",")}`);
	}
	return ran(ctx.execution.id, run);
});

worker.handle("stepping", async (ctx) => {
	const values = [];
	for (let n = 0; n < 5; n++) values.push(await keep(ctx, `s${n}`));
	return ran(ctx.execution.id, values);
});

worker.handle("parent", async (ctx) => {
	for (let n = 1; n <= 3; n++) await ctx.submitChild(`c${n}`, "child", n);
	const children = await ctx.waitForChildren();
	return ran(
		ctx.execution.id,
		children.reduce((sum, { result }) => sum + result, 0),
	);
});
worker.handle("child", ({ execution }, n) => ran(execution.id, n));

worker.handle("flaky", ({ attempt, execution }) => {
	if (attempt.type === "initial") throw new RetryAfter(20, "once more");
	return ran(execution.id, "second time");
});

worker.handle("node", ({ attempt, execution, parents }, isFlaky) => {
	if (isFlaky && attempt.type === "initial") throw new Error("the first time it fails");
	return ran(
		execution.id,
		Object.values(parents).reduce((sum, { result }) => sum + result, 1),
	);
});

await worker.start();
say("ready");
