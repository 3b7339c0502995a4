import { expect, test } from "vitest";
import { stage } from "./watched-store.ts";

const budget = { dimensions: { tokens: { hard: 1 } } };
const named = (id: string) => ({ kind: "job", budgets: [id] });

test("many submits that name budgets and quotas are one question to each partition, and a yes holds for a second", async () => {
	const { backend, store, clock } = await stage({ partitions: 4 });
	for (const id of ["a", "b", "c"]) await backend.budgets.create({ ...budget, id });
	await backend.quotas.create({ id: "q", concurrency: 1 });
	let asked = 0;
	const read = store.read.bind(store);
	store.read = (partition, keys) => {
		if (keys.some((key) => key.startsWith("budget:") || key.startsWith("quota:"))) asked += 1;
		return read(partition, keys);
	};
	const items = Array.from({ length: 100 }, () => ({ kind: "job", budgets: ["a", "b", "c"], quotas: ["q"] }));
	const made = await backend.executions.createMany(items);
	expect(made.every(({ ok }) => ok)).toBe(true);
	expect(asked).toBeLessThanOrEqual(4);
	asked = 0;
	await clock.advance(999);
	await backend.executions.create(named("a"));
	expect(asked).toBe(0);
	await clock.advance(1);
	await backend.executions.create(named("a"));
	expect(asked).toBe(1);
	await backend.close();
});

test("a no is asked again at once, and what was deleted here is gone at once", async () => {
	const { backend } = await stage();
	const missing = { code: "budget_not_found", details: { budget: "a" } };
	await expect(backend.executions.create(named("a"))).rejects.toMatchObject(missing);
	await backend.budgets.create({ ...budget, id: "a" });
	await backend.executions.create(named("a"));
	await backend.budgets.delete("a");
	await expect(backend.executions.create(named("a"))).rejects.toMatchObject(missing);
	await backend.close();
});

test("a budget another engine deleted is missed after a second", async () => {
	const { backend, start, clock } = await stage({ shared: true });
	const other = await start();
	await backend.budgets.create({ ...budget, id: "a" });
	await other.executions.create(named("a"));
	await backend.budgets.delete("a");
	await clock.advance(1000);
	await expect(other.executions.create(named("a"))).rejects.toMatchObject({ code: "budget_not_found" });
	await backend.close();
	await other.close();
});
