import { setTimeout as pause } from "node:timers/promises";
import { FlowFabric } from "flowfabric";

/**
 * Agents that call models until they have a final answer. Every call is an execution. A quota per provider limits how often
 * calls may start, and one budget limits how many tokens all agents may spend. The models are scripted, so you need no
 * network. Run it after `npm run build`.
 */

interface Question {
	agent: string;
	provider: string;
	turn: number;
}

type Kinds = { ask: { input: Question; result: { text: string; isFinal: boolean } } };

/** What each agent's model answers. Carol's model never finishes. */
const script: Record<string, { tokens: number; turns: number }> = {
	ada: { tokens: 400, turns: 3 },
	bob: { tokens: 300, turns: 2 },
	carol: { tokens: 500, turns: Number.POSITIVE_INFINITY },
	dave: { tokens: 100, turns: 1 },
};

async function model({ agent, turn }: Question, signal: AbortSignal) {
	await pause(5, undefined, { signal });
	const { tokens, turns } = script[agent] ?? { tokens: 0, turns: 0 };
	return { text: `${agent}, answer ${turn}`, tokens, isFinal: turn >= turns };
}

const ff = await FlowFabric.open<Kinds>("memory:");
const rate = { max: 3, windowMs: 200 };
await ff.quotas.create({ id: "north", rate });
await ff.quotas.create({ id: "south", rate });
await ff.budgets.create({ id: "research", dimensions: { tokens: { soft: 3000, hard: 4000 } }, onHard: "cancel" });

const worker = ff.worker({ concurrency: 4 });
worker.handle("ask", async (ctx, question) => {
	const { text, tokens, isFinal } = await model(question, ctx.signal);
	// The answer's own id is the dedup key, so a repeated attempt does not pay for it twice.
	const dedupKey = `${question.agent}-${question.turn}`;
	const { outcome, current, limit } = await ctx.usage("research", { tokens }, { dedupKey });
	if (outcome === "soft_breach") console.log(`${question.agent}: ${current} tokens are spent of ${limit} we meant to`);
	// Every execution under the budget is told to stop, including this one.
	if (outcome === "hard_breach") await pause(10_000, undefined, { signal: ctx.signal });
	return { text, isFinal };
});
await worker.start();

const ask = (question: Question) =>
	ff.submit("ask", question, {
		budgets: ["research"],
		quotas: [question.provider],
		tags: { agent: question.agent },
	});

/** Asks until the answer is final, or until the execution is stopped. */
async function agent(name: string, provider: string): Promise<void> {
	for (let turn = 1; ; turn++) {
		const run = await ask({ agent: name, provider, turn });
		const { publicState } = await run.wait();
		if (publicState !== "completed") return console.log(`${name}: ${publicState} in turn ${turn}`);
		const { text, isFinal } = await run.result();
		if (isFinal) return console.log(`${name}: ${text} is final`);
	}
}

await agent("ada", "north");
await agent("bob", "south");
await agent("carol", "north");

// Nothing more is admitted until somebody raises the limit.
const late = await ask({ agent: "dave", provider: "south", turn: 1 });
console.log(`dave waits: ${(await ff.explain(late.id)).reasons[0]}`);
await ff.budgets.patch("research", { dimensions: { tokens: { hard: 5000 } } });
console.log(`dave: ${(await late.result()).text}`);

const { entries } = await ff.budgets.ledger("research");
const spent = new Map<string, { calls: number; tokens: number }>();
for (const { executionId = "", dims } of entries) {
	const name = (await ff.get(executionId)).tags.agent ?? "";
	const { calls, tokens } = spent.get(name) ?? { calls: 0, tokens: 0 };
	spent.set(name, { calls: calls + 1, tokens: tokens + (dims.tokens ?? 0) });
}
console.log("\nAGENT  CALLS  TOKENS");
for (const [name, { calls, tokens }] of [...spent].sort())
	console.log(`${name.padEnd(5)}  ${String(calls).padStart(5)}  ${String(tokens).padStart(6)}`);
const { used, hard } = (await ff.budgets.get("research")).dimensions.tokens ?? {};
console.log(`all    ${String(entries.length).padStart(5)}  ${String(used).padStart(6)} of ${hard}`);
await ff.close();
