import { FlowFabric } from "flowfabric";

/**
 * Two of three people have to agree before something is released, in any order; nobody counts twice. Run it after
 * `npm run build`.
 */

type Kinds = { release: { input: { version: string }; result: { released: boolean; by: string[] } } };

const ff = await FlowFabric.open<Kinds>("memory:");
const worker = ff.worker();
worker.handle("release", async (ctx) => {
	const twoSay = (match: string) => ({ count: { n: 2, distinctBy: "source" as const, match } });
	const signals = await ctx.waitFor("release", {
		condition: { anyOf: [twoSay("approve"), twoSay("reject")] },
		reason: "waiting_for_approval",
		timeoutMs: 86_400_000,
	});
	// Only the signals that satisfied the condition are here.
	return { released: signals[0]?.name === "approve", by: signals.map(({ source }) => source?.identity ?? "") };
});
await worker.start();

/** Resolves when the execution is suspended. */
async function suspended(id: string): Promise<void> {
	for await (const { event } of ff.follow(id)) if (event.type === "suspended") return;
}

for (const { version, answers } of [
	{ version: "1.0", answers: ["ann approve", "ann approve", "bob reject", "cid approve"] },
	{ version: "1.1", answers: ["ann approve", "bob reject", "cid reject"] },
]) {
	const run = await ff.submit("release", { version });
	await suspended(run.id);
	for (const answer of answers) {
		const [identity = "", name = ""] = answer.split(" ");
		const { effect } = await ff.approve(run.id, { name, identity });
		console.log(`${version}: ${identity} says ${name}: ${effect}`);
	}
	const { released, by } = await run.result();
	console.log(`${version}: ${released ? "released" : "held back"} by ${by.join(" and ")}`);
}
await ff.close();
