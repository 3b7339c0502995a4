import { once } from "node:events";
import { FlowFabric } from "flowfabric";

/**
 * A loop of model calls under a token budget that asks for approval when it is spent. The work is then suspended, and a person
 * raises the limit or rejects it. Earlier model calls are recorded steps and are not made again. The model is scripted, so you
 * need no network. Run it after `npm run build`.
 */

type Kinds = { research: { input: { topic: string }; result: { notes: string[] } } };

const TURNS = 6;
let asked = 0;

/** A stand-in for a model; every answer costs 300 tokens. */
function model(topic: string, turn: number) {
	asked += 1;
	return { text: `${topic}, part ${turn}`, tokens: 300 };
}

const ff = await FlowFabric.open<Kinds>("memory:");
await ff.budgets.create({ id: "research", dimensions: { tokens: { hard: 1000 } }, onHard: "suspend" });

const worker = ff.worker();
worker.handle("research", async (ctx, { topic }) => {
	const notes: string[] = [];
	for (let turn = 1; turn <= TURNS; turn++) {
		const { text, tokens } = await ctx.step(`turn ${turn}`, () => model(topic, turn));
		// With its own dedup key the report counts once, however often the handler gets here.
		const dedupKey = `${ctx.execution.id} ${turn}`;
		const { outcome } = await ctx.usage("research", { tokens }, { dedupKey });
		// The budget now revokes our lease and asks for approval. If it is approved, this turn is reported again.
		if (outcome === "hard_breach" && !ctx.signal.aborted) await once(ctx.signal, "abort");
		ctx.signal.throwIfAborted();
		notes.push(text);
	}
	return { notes };
});
await worker.start();

/** Resolves when the execution is suspended for the n-th time. */
async function suspended(id: string, times: number): Promise<void> {
	let seen = 0;
	for await (const { event } of ff.follow(id)) if (event.type === "suspended" && ++seen === times) return;
}

const run = await ff.submit("research", { topic: "moths" }, { budgets: ["research"] });
await suspended(run.id, 1);
for (const { key, detail } of (await ff.approvals({ reason: "paused_by_budget" })).waitpoints)
	console.log(`${key} asks: ${detail}`);

// Approved, with a higher limit. `flowfabric approve` does the same.
await ff.approve(run.id, { name: "approve", payload: { dimensions: { tokens: { hard: 1500 } } } });
await suspended(run.id, 2);
console.log(`again: ${(await run.get()).blockingDetail}`);

// Raising the budget itself resumes everything that it suspended.
await ff.budgets.patch("research", { dimensions: { tokens: { hard: 3000 } } });
console.log(`notes: ${(await run.result()).notes.length}`);

// The next request is rejected.
await ff.budgets.patch("research", { dimensions: { tokens: { hard: 1900 } } });
const other = await ff.submit("research", { topic: "owls" }, { budgets: ["research"] });
await suspended(other.id, 1);
await ff.approve(other.id, { name: "reject" });
const { publicState, failure } = await other.wait();
console.log(`${publicState}: ${failure?.reason}`);

const { used } = (await ff.budgets.get("research")).dimensions.tokens ?? {};
console.log(`${used} tokens are paid for; the model was asked ${asked} times`);
await ff.close();
