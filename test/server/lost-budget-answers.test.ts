import { expect, test } from "vitest";
import { losingFirstAnswers } from "./losing-proxy.ts";
import { Stand } from "./stand.ts";

test("whatever is done to a budget is done once, though every first answer is lost", async () => {
	const stand = await Stand.open();
	const { ff, sent } = await losingFirstAnswers(stand);
	const { budgets } = stand.backend;
	await ff.budgets.create({ id: "team", dimensions: { tokens: { hard: 100 } } });
	const { id: executionId } = await stand.backend.executions.create({ kind: "job" });

	expect(await ff.budgets.usage("team", { dims: { tokens: 10 }, executionId })).toMatchObject({ duplicate: true });
	expect((await budgets.get("team")).dimensions.tokens?.used).toBe(10);

	const [held] = await stand.backend.leases.claim({ workerId: "w", instanceId: "w-1" });
	const fence = { leaseId: held?.lease.id ?? "", epoch: held?.lease.epoch ?? 0 };
	await ff.backend.leases.usage(executionId, { fence, budget: "team", dims: { tokens: 5 } });
	expect((await budgets.get("team")).dimensions.tokens?.used).toBe(15);

	expect(await ff.budgets.release("team", { executionId })).toEqual({ released: { tokens: 15 } });
	await ff.budgets.patch("team", { onHard: "fail" });
	await ff.budgets.reset("team");
	await ff.quotas.create({ id: "q", concurrency: 1 });
	await ff.quotas.patch("q", { concurrency: 2 });
	const twice = sent.filter((call) => call.startsWith("POST") || call.startsWith("PATCH"));
	for (const call of twice) expect([call, sent.filter((each) => each === call).length]).toEqual([call, 2]);
	expect(new Set(twice).size).toBe(8);
});

test("what is spent between a reset or release and its repetition is left alone", async () => {
	const stand = await Stand.open();
	const { budgets, executions } = stand.backend;
	const { id: executionId } = await executions.create({ kind: "job" });
	const spend = (tokens: number) => budgets.usage("team", { dims: { tokens }, executionId });
	const used = async () => (await budgets.get("team")).dimensions.tokens?.used;
	const { ff, sent } = await losingFirstAnswers(stand, () => spend(7));
	await budgets.create({ id: "team", dimensions: { tokens: { hard: 100 } } });
	await spend(30);
	expect(await ff.budgets.release("team", { executionId })).toEqual({ released: { tokens: 30 } });
	expect(await used()).toBe(7);
	await ff.budgets.reset("team");
	expect(await used()).toBe(7);
	expect(sent).toHaveLength(4);
});

test("a budget or quota is made once, and deleted once, though the answer is lost", async () => {
	const stand = await Stand.open();
	const { budgets, quotas } = stand.backend;
	const { ff } = await losingFirstAnswers(stand);
	expect(await ff.budgets.create({ id: "team", dimensions: {} })).toMatchObject({ created: false });
	expect(await ff.quotas.create({ id: "q", concurrency: 1 })).toMatchObject({ created: false });
	expect((await budgets.list()).budgets).toHaveLength(1);
	expect((await quotas.list()).quotas).toHaveLength(1);
	await expect(ff.budgets.delete("team")).rejects.toMatchObject({ code: "unreachable" });
	await expect(ff.quotas.delete("q")).rejects.toMatchObject({ code: "unreachable" });
	// Whoever says it again learns that it is done.
	await expect(ff.budgets.delete("team")).rejects.toMatchObject({ code: "budget_not_found" });
	await expect(ff.quotas.delete("q")).rejects.toMatchObject({ code: "quota_not_found" });
	expect((await budgets.list()).budgets).toEqual([]);
	expect((await quotas.list()).quotas).toEqual([]);
});

test("a report without a key, and a delete, are not sent again once they may have been heard", async () => {
	const stand = await Stand.open();
	const { ff, sent } = await losingFirstAnswers(stand);
	await stand.backend.budgets.create({ id: "team", dimensions: {} });
	const unreachable = { code: "unreachable", retryable: true };
	await expect(ff.budgets.usage("team", { dims: { a: 1 }, dedupKey: "" })).rejects.toMatchObject(unreachable);
	await expect(ff.budgets.delete("team")).rejects.toMatchObject(unreachable);
	expect(sent).toHaveLength(2);
});
