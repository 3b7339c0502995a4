import { setTimeout as pause } from "node:timers/promises";
import { FlowFabric } from "flowfabric";

/**
 * Three models get the same question. The first answer wins, and the other models are told to stop before they cost more. The
 * models are scripted, so you need no network. Run it after `npm run build`.
 */

type Kinds = {
	ask: { input: { model: string; question: string }; result: { text: string } };
	publish: { input: undefined; result: { text: string; from: string } };
};

/** How many words a model has written when it finishes or is stopped; only the small model is fast. */
const said: Record<string, number> = { small: 0, large: 0, huge: 0 };
const WORD_MS: Record<string, number> = { small: 2, large: 60_000, huge: 60_000 };

const ff = await FlowFabric.open<Kinds>("memory:");
const worker = ff.worker({ concurrency: 4 });

worker.handle("ask", async (ctx, { model, question }) => {
	for (let word = 0; word < 5; word++) {
		said[model] = (said[model] ?? 0) + 1;
		// A fair start: no model continues before all have begun.
		while (Object.values(said).includes(0)) await pause(1, undefined, { signal: ctx.signal });
		await pause(WORD_MS[model], undefined, { signal: ctx.signal });
	}
	return { text: `${question} Yes, says ${model}.` };
});

const noWinner: [string, { result?: unknown }] = ["nobody", { result: { text: "" } }];
worker.handle("publish", ({ parents }) => {
	// Only the winner is here, under its name.
	const [[from, { result }] = noWinner] = Object.entries(parents);
	return { from, text: (result as { text: string }).text };
});
await worker.start();

const question = "Is it safe?";
const flow = ff.flow("race");
for (const model of Object.keys(said)) flow.node(model, "ask", { model, question });
const run = await flow
	.node("publish", "publish", undefined, {
		after: Object.keys(said),
		group: { policy: "any_of", onSatisfied: "cancel_remaining" },
	})
	.start();

const { state } = await run.wait();
const { from, text } = await run.run<Kinds["publish"]["result"]>("publish").result();
console.log(`${from} won: ${text}`);
for (const { key, publicState } of (await run.graph()).nodes) console.log(`${key} ${publicState}`);
// The cancelled models do not fail the flow.
console.log(`the race ${state}, and the others said ${said.large} and ${said.huge} of 5 words`);
await ff.close();
