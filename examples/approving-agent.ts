import { FlowFabric } from "flowfabric";

/**
 * An agent that asks a person before it does something that cannot be undone, and then continues where it stopped. While it
 * waits it holds nothing: no worker, no lease, no memory. Earlier model calls are recorded steps, so they are neither made nor
 * paid for again. The model is scripted, so you need no network. Run it after `npm run build`.
 */

type Kinds = {
	complaint: { input: { customer: string; text: string }; result: { reply: string } };
};

let asked = 0;

/** A stand-in for a model: it first proposes what to do, then writes the answer. */
function model(prompt: "propose" | "reply", customer: string, decision = "") {
	asked += 1;
	if (prompt === "propose") return { tool: "refund", customer, cents: 4900 };
	return { text: `Dear ${customer}, ${decision}` };
}

const refunds: string[] = [];

const ff = await FlowFabric.open<Kinds>("memory:");
const worker = ff.worker();
let runs = 0;
worker.handle("complaint", async (ctx, { customer }) => {
	runs += 1;
	const proposal = await ctx.step("propose", () => model("propose", customer));
	if (!("tool" in proposal)) throw new Error("the model proposed nothing");
	await ctx.progress({ message: `wants to ${proposal.tool} ${proposal.cents} cents` });

	const { approved, payload, by } = await ctx.waitForApproval("refund", { timeoutMs: 86_400_000 });

	if (approved) await ctx.step("refund", () => refunds.push(`${customer} ${proposal.cents}`));
	const decision = approved ? "we refund you." : `we are sorry: ${(payload as { why: string }).why}.`;
	const reply = await ctx.step("reply", () => model("reply", customer, decision));
	return { reply: `${"text" in reply ? reply.text : ""} (decided by ${by?.identity})` };
});
await worker.start();

/** Resolves when the execution is suspended. */
async function suspended(id: string): Promise<void> {
	for await (const { event } of ff.follow(id)) if (event.type === "suspended") return;
}

const first = await ff.submit("complaint", { customer: "Ada", text: "it broke" });
await suspended(first.id);
const second = await ff.submit("complaint", { customer: "Bob", text: "it is blue" });
await suspended(second.id);

// What a person sees, here or with `flowfabric approvals`.
for (const { executionId, key, detail } of (await ff.approvals()).waitpoints) {
	const { progress } = await ff.get(executionId);
	console.log(`${key}: ${progress?.message}, ${detail.replace(/ until .*/, "")}`);
}

await ff.approve(first.id, { name: "approve", identity: "Carol" });
await ff.approve(second.id, { name: "reject", payload: { why: "blue is what you ordered" }, identity: "Carol" });

console.log((await first.result()).reply);
console.log((await second.result()).reply);
console.log(`refunds: ${refunds.join(", ")}`);
console.log(`handlers ran ${runs} times, the model was asked ${asked} times`);
await ff.close();
