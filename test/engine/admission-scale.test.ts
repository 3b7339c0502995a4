import { describe, expect, it, onTestFinished } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import type { ClaimedExecution } from "../../src/index.ts";
import { budgetKey } from "../../src/kernel/records/budget.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const WAITERS = 50_000;
const PAGE = 100;
const worker = { workerId: "w", instanceId: "i", leaseMs: 600_000 };
const say = (line: string) => process.stdout.write(`${line}\n`);

/** An engine, and how often its store was asked for a budget. */
async function open(partitions: number) {
	const clock = new VirtualClock();
	const store = new MemoryStore(partitions, clock.now);
	const asked = new Map<string, number>();
	const read = store.read.bind(store);
	store.read = (partition, keys) => {
		for (const key of keys) asked.set(key, (asked.get(key) ?? 0) + 1);
		return read(partition, keys);
	};
	const engine = new Engine({ store, clock });
	clock.watch(() => !engine.idle);
	await engine.start();
	onTestFinished(() => engine.close());
	return { clock, asked, backend: new LocalBackend({ engine, actor: "test", retentionMs: 0 }) };
}

async function submit(backend: LocalBackend, count: number, item: object): Promise<string[]> {
	const ids: string[] = [];
	for (let left = count; left > 0; left -= 1000) {
		const some = Array.from({ length: Math.min(1000, left) }, () => ({ kind: "job", ...item }));
		for (const { id = "" } of await backend.executions.createMany(some)) ids.push(id);
	}
	return ids;
}

/** A budget of which nothing is left. */
async function spent(backend: LocalBackend, id: string): Promise<void> {
	await backend.budgets.create({ id, dimensions: { tokens: { hard: 1 } } });
	await backend.budgets.usage(id, { dims: { tokens: 1 } });
}

const raise = (backend: LocalBackend, id: string) =>
	backend.budgets.patch(id, { dimensions: { tokens: { hard: 1_000_000 } } });

/** Claims until all that waits for these budgets has been set aside. */
async function claimInVain(backend: LocalBackend, waiting: Record<string, number>): Promise<number> {
	const count = Object.values(waiting).reduce((sum, each) => sum + each, 0);
	for (let calls = 1; ; calls++) {
		expect(await backend.leases.claim({ ...worker, max: 256 })).toEqual([]);
		const found = await Promise.all(Object.keys(waiting).map(async (id) => (await backend.budgets.get(id)).waiting));
		if (found.reduce((sum, each) => sum + each, 0) === count) return calls;
		expect(calls).toBeLessThan(count / 10);
	}
}

async function complete(backend: LocalBackend, claimed: readonly ClaimedExecution[]): Promise<void> {
	await Promise.all(
		claimed.map(({ id, lease }) => backend.leases.complete(id, { fence: { leaseId: lease.id, epoch: lease.epoch } })),
	);
}

describe.each([1, 8])("admission at scale, on %i partitions", (partitions) => {
	it(`${WAITERS} that wait for one budget are released by raising it, which is read once a page`, async () => {
		const { backend, clock, asked } = await open(partitions);
		await spent(backend, "team");
		const began = performance.now();
		await submit(backend, WAITERS, { budgets: ["team"] });
		const submitted = performance.now();
		const calls = await claimInVain(backend, { team: WAITERS });
		await clock.advance(6000);
		const blocked = performance.now();

		const { releaser } = backend.engine.guards;
		releaser.reads = 0;
		asked.clear();
		await raise(backend, "team");
		await clock.settle();
		const took = Math.round(performance.now() - blocked);
		const stored = asked.get(budgetKey("default", "team")) ?? 0;
		say(
			`${WAITERS} blocked on one budget, ×${partitions}: submitted in ${Math.round(submitted - began)} ms, set aside by ${calls} claims in ${Math.round(blocked - submitted)} ms; released in ${took} ms with ${releaser.reads} reads of the budget (${stored} of the store)`,
		);
		expect(await backend.budgets.get("team")).toMatchObject({ waiting: 0 });
		expect((await backend.executions.list({ state: "rate_limited", limit: 1 })).executions).toEqual([]);
		// One for every page, and one for the page that shows that nothing is left.
		expect(releaser.reads).toBeLessThanOrEqual(WAITERS / PAGE + 1);
		expect(stored).toBeLessThanOrEqual(WAITERS / PAGE + 5);
		expect(await backend.leases.claim({ ...worker, max: 256 })).toHaveLength(256);
	});

	it("10 of one key under a quota of 5 end before the hundredth of 10,000 of another that came first", async () => {
		const { backend, clock } = await open(partitions);
		await backend.quotas.create({ id: "q", concurrency: 5 });
		await submit(backend, 10_000, { quotas: ["q"], fairnessKey: "a" });
		const ours = new Set(await submit(backend, 10, { quotas: ["q"], fairnessKey: "b" }));
		let others = 0;
		for (let rounds = 0; ours.size > 0; rounds++) {
			const claimed = await backend.leases.claim({ ...worker, max: 50 });
			expect(claimed.length).toBeLessThanOrEqual(5);
			await complete(backend, claimed);
			for (const { id } of claimed) if (!ours.delete(id)) others += 1;
			expect(others).toBeLessThan(100);
			expect(rounds).toBeLessThan(100);
			await clock.advance(20);
		}
		say(`10 of key b among 10,000 of key a under a quota of 5, ×${partitions}: ${others} of a ended before them`);
	});

	it("one call examines at most 256 candidates, though it is given some", async () => {
		const { backend } = await open(partitions);
		await backend.quotas.create({ id: "q", concurrency: 5 });
		await submit(backend, 2000, { quotas: ["q"], fairnessKey: "a" });
		expect(await backend.leases.claim({ ...worker, max: 50 })).toHaveLength(5);
		expect((await backend.quotas.get("q")).waiting).toBeLessThanOrEqual(256);
	});

	it("5,000 that wait for one budget do not hide 10 behind them that wait for another", async () => {
		const { backend, clock } = await open(partitions);
		await spent(backend, "a");
		await spent(backend, "b");
		await submit(backend, 5000, { budgets: ["a"] });
		const ids = await submit(backend, 10, { budgets: ["b"] });
		await claimInVain(backend, { a: 5000, b: 10 });
		await raise(backend, "b");
		await clock.settle();
		const claimed = await backend.leases.claim({ ...worker, max: 20 });
		expect(claimed.map(({ id }) => id).sort()).toEqual(ids.sort());
		expect((await backend.budgets.get("a")).waiting).toBe(5000);
	});
});
