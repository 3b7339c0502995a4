import { describe, expect, it } from "vitest";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { stage } from "./watched-store.ts";

const refusal = async (call: Promise<unknown>): Promise<unknown> => {
	try {
		await call;
	} catch (error) {
		const { code, status, retryable, details } = error as Record<string, unknown>;
		return { code, status, retryable, details };
	}
	return undefined;
};

const LIMIT = 20;
const tooMany = (what: string, details = {}) => ({
	code: `too_many_${what}`,
	status: 429,
	retryable: true,
	details: { limit: LIMIT, ...details },
});

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, n) => from + n);

it("creates that are refused bring no names", async () => {
	const { backend } = await stage({ limits: { lanes: LIMIT, kinds: LIMIT } });
	const job = (n: number) => ({ kind: `k${n}`, lane: `lane-${n}`, requiredCapabilities: [`c${n}`] });
	const refused = await backend.executions.createMany(
		numbers(2 * LIMIT).map((n) => ({ ...job(n), budgets: ["none-such"] })),
	);
	expect(new Set(refused.map((item) => item.error?.code))).toEqual(new Set(["budget_not_found"]));
	const code = { code: "budget_not_found" };
	expect(await refusal(backend.executions.create({ ...job(50), budgets: ["none-such"] }))).toMatchObject(code);
	expect(await backend.executions.create(job(100))).toMatchObject({ created: true });
	await backend.close();
});

describe("lanes", () => {
	const fill = (backend: LocalBackend) =>
		Promise.all(numbers(LIMIT).map((n) => backend.executions.create({ kind: "job", lane: `lane-${n}` })));

	it("a namespace that has as many as it may gets no other, and goes on with those it has", async () => {
		const { backend } = await stage({ limits: { lanes: LIMIT } });
		await fill(backend);
		const create = (lane: string, namespace = "default") => backend.executions.create({ kind: "job", lane, namespace });
		expect(await refusal(create("another"))).toEqual(tooMany("lanes"));
		expect(await create("lane-7")).toMatchObject({ created: true });
		expect(await create("another", "tenant")).toMatchObject({ created: true });
		const items = await backend.executions.createMany([
			{ kind: "job", lane: "lane-3" },
			{ kind: "job", lane: "yet another" },
			{ kind: "other", lane: "lane-4" },
		]);
		expect(items).toMatchObject([{ ok: true }, { ok: false, error: { code: "too_many_lanes" } }, { ok: true }]);
		expect(await refusal(backend.lanes.pause("another"))).toEqual(tooMany("lanes"));
		expect(await backend.lanes.pause("lane-1")).toMatchObject({ state: "paused" });
		expect((await backend.lanes.list()).lanes).toHaveLength(LIMIT);
		await backend.close();
	});

	it("paused lanes without work count too", async () => {
		const { backend } = await stage({ limits: { lanes: LIMIT } });
		for (const n of numbers(LIMIT)) await backend.lanes.pause(`lane-${n}`);
		expect(await refusal(backend.lanes.pause("another"))).toEqual(tooMany("lanes"));
		expect(await refusal(backend.executions.create({ kind: "job", lane: "another" }))).toEqual(tooMany("lanes"));
		await backend.close();
	});

	it("an engine that has just started learns what is there before it has let in many more", async () => {
		const { backend, start } = await stage({ limits: { lanes: LIMIT } });
		await fill(backend);
		const second = await start();
		let made = 0;
		for (; made < LIMIT; made++) {
			const refused = await refusal(second.executions.create({ kind: "job", lane: `more-${made}` }));
			if (!refused) continue;
			expect(refused).toEqual(tooMany("lanes"));
			break;
		}
		expect(made).toBeGreaterThan(0);
		expect(made).toBeLessThan(LIMIT / 2);
		await backend.close();
	});

	it("lanes that are gone make room for others", async () => {
		const { backend, clock } = await stage({ limits: { lanes: LIMIT } });
		const { executions } = backend;
		const made = await fill(backend);
		expect(await refusal(executions.create({ kind: "job", lane: "another" }))).toEqual(tooMany("lanes"));
		for (const { id } of made.slice(0, 5)) {
			await executions.cancel(id);
			await executions.delete(id);
		}
		await clock.advance(40_000);
		// Who comes first is told what was known; whoever comes again is let in.
		await refusal(executions.create({ kind: "job", lane: "another" }));
		await clock.settle();
		expect(await executions.create({ kind: "job", lane: "another" })).toMatchObject({ created: true });
		await backend.close();
	});

	it("a namespace of few lanes never costs a question to the store", async () => {
		const { backend, store } = await stage({ limits: { lanes: 1000 } });
		store.askedSince();
		for (const n of numbers(50)) await backend.executions.create({ kind: `kind-${n}`, lane: `lane-${n}` });
		expect(store.askedSince().queues.calls).toBe(0);
		await backend.close();
	});
});

describe("kinds that wait in a lane", () => {
	it("when there are as many as there may be another is refused, and those that wait are not", async () => {
		const { backend } = await stage({ limits: { kinds: LIMIT } });
		const { executions, leases } = backend;
		for (const n of numbers(LIMIT)) await executions.create({ kind: `kind-${n}` });
		expect(await refusal(executions.create({ kind: "another" }))).toEqual(tooMany("kinds", { lane: "default" }));
		expect(await executions.create({ kind: "kind-3" })).toMatchObject({ created: true });
		expect(await executions.create({ kind: "another", lane: "other" })).toMatchObject({ created: true });
		const items = await executions.createMany([{ kind: "kind-1" }, { kind: "another" }]);
		expect(items).toMatchObject([{ ok: true }, { ok: false, error: { code: "too_many_kinds" } }]);
		const claimed = await leases.claim({ workerId: "w", instanceId: "i", kinds: ["kind-5"] });
		expect(claimed).toHaveLength(1);
		expect(await executions.create({ kind: "another" })).toMatchObject({ created: true });
		await backend.close();
	});

	it("what nobody can serve is bounded by what it requires, though it has left the lane's queues", async () => {
		const { backend } = await stage({ limits: { kinds: LIMIT } });
		const { executions, leases } = backend;
		const create = (n: number) => executions.create({ kind: "job", requiredCapabilities: [`cap-${n}`] });
		for (const n of numbers(LIMIT)) {
			await create(n);
			await leases.claim({ workerId: "w", instanceId: "i" });
		}
		const [waiting] = (await executions.list({ limit: 1 })).executions;
		expect(waiting?.state.eligibilityState).toBe("blocked_by_route");
		expect(await refusal(create(LIMIT))).toEqual(tooMany("kinds", { field: "requiredCapabilities" }));
		expect(await create(7)).toMatchObject({ created: true });
		await backend.close();
	});
});

describe("worker instances", () => {
	const offer = { workerId: "w", capabilities: ["gpu"], lanes: ["default"] };

	it("a namespace that has as many as it may gets no other until one goes", async () => {
		const { backend, clock } = await stage({ limits: { workers: LIMIT } });
		const { workers, leases } = backend;
		await Promise.all(numbers(LIMIT).map((n) => workers.register(`i-${n}`, offer)));
		expect(await refusal(workers.register("another", offer))).toEqual(tooMany("workers"));
		expect(await workers.register("i-3", offer)).toMatchObject({ instanceId: "i-3" });
		expect(await workers.register("another", { ...offer, namespace: "tenant" })).toMatchObject({ namespace: "tenant" });
		// Whoever claims is served, though it is not entered.
		await backend.executions.create({ kind: "job" });
		const claim = { workerId: "w", instanceId: "claimer", capabilities: ["gpu"] };
		expect(await leases.claim(claim)).toHaveLength(1);
		expect((await workers.list()).workers).toHaveLength(LIMIT);
		await workers.remove("i-5");
		await clock.advance(10_000);
		expect(await workers.register("another", offer)).toMatchObject({ instanceId: "another" });
		await backend.close();
	});

	it("as many that register at once are no more than may be", async () => {
		const { backend } = await stage({ limits: { workers: LIMIT } });
		const answers = await Promise.allSettled(numbers(3 * LIMIT).map((n) => backend.workers.register(`i-${n}`, offer)));
		expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(LIMIT);
		expect((await backend.workers.list()).workers).toHaveLength(LIMIT);
		await backend.close();
	});

	it("instances that only claim are counted, and no more are entered than may be", async () => {
		const { backend } = await stage({ limits: { workers: LIMIT } });
		for (const n of numbers(2 * LIMIT)) {
			await backend.leases.claim({ workerId: "w", instanceId: `i-${n}`, capabilities: [`cap-${n}`] });
		}
		expect((await backend.workers.list()).workers).toHaveLength(LIMIT);
		await backend.close();
	});
});

describe("budgets and quotas", () => {
	it("are so many of each, and what exists may be made again", async () => {
		const { backend } = await stage({ limits: { guards: LIMIT }, partitions: 4 });
		const { budgets, quotas } = backend;
		for (const n of numbers(LIMIT)) {
			await budgets.create({ id: `b-${n}`, dimensions: {} });
			await quotas.create({ id: `q-${n}`, concurrency: 1 });
		}
		expect(await refusal(budgets.create({ id: "more", dimensions: {} }))).toEqual(tooMany("budgets"));
		expect(await refusal(quotas.create({ id: "more", concurrency: 1 }))).toEqual(tooMany("quotas"));
		expect(await budgets.create({ id: "b-3", dimensions: {} })).toMatchObject({ created: false });
		await budgets.create({ id: "more", namespace: "tenant", dimensions: {} });
		await budgets.delete("b-5");
		expect(await budgets.create({ id: "more", dimensions: {} })).toMatchObject({ created: true });
		await backend.close();
	});
});
