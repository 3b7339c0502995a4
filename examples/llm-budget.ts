import { once } from "node:events";
import { FlowFabric } from "flowfabric";

/**
 * A loop of calls to a model under a budget of tokens that asks when it is spent. The work is suspended then; a person raises
 * the limit, or says no. What the model has answered is not asked again. The model is scripted, so it needs no network. Run
 * it after `npm run build`.
 */

type Kinds = { research: { input: { topic: string }; result: { notes: string[] } } };

const TURNS = 6;
let asked = 0;

/** Stands for a model; every answer costs 300 tokens. */
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
		// Under a key of its own the report counts once, however often the handler comes by here.
		const dedupKey = `${ctx.execution.id} ${turn}`;
		const { outcome } = await ctx.usage("research", { tokens }, { dedupKey });
		// The budget takes the work away from us now, and asks. Should it be let go on, this turn is reported again.
		if (outcome === "hard_breach" && !ctx.signal.aborted) await once(ctx.signal, "abort");
		ctx.signal.throwIfAborted();
		notes.push(text);
	}
	return { notes };
});
await worker.start();

/** Ends when the execution is suspended for the n-th time. */
async function suspended(id: string, times: number): Promise<void> {
	let seen = 0;
	for await (const { event } of ff.follow(id)) if (event.type === "suspended" && ++seen === times) return;
}

const run = await ff.submit("research", { topic: "moths" }, { budgets: ["research"] });
await suspended(run.id, 1);
for (const { key, detail } of (await ff.approvals({ reason: "paused_by_budget" })).waitpoints)
	console.log(`${key} asks: ${detail}`);

// Yes, and this much more. `flowfabric approve` does the same.
await ff.approve(run.id, { name: "approve", payload: { dimensions: { tokens: { hard: 1500 } } } });
await suspended(run.id, 2);
console.log(`again: ${(await run.get()).blockingDetail}`);

// Whoever raises the budget itself lets all go on that it had paused.
await ff.budgets.patch("research", { dimensions: { tokens: { hard: 3000 } } });
console.log(`notes: ${(await run.result()).notes.length}`);

// The next one is told no.
await ff.budgets.patch("research", { dimensions: { tokens: { hard: 1900 } } });
const other = await ff.submit("research", { topic: "owls" }, { budgets: ["research"] });
await suspended(other.id, 1);
await ff.approve(other.id, { name: "reject" });
const { publicState, failure } = await other.wait();
console.log(`${publicState}: ${failure?.reason}`);

const { used } = (await ff.budgets.get("research")).dimensions.tokens ?? {};
console.log(`${used} tokens are paid for; the model was asked ${asked} times`);
await ff.close();
