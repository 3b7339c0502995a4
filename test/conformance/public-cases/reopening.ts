import { expect } from "vitest";
import { type PublicCase, refusal } from "../scene.ts";
import { send, suspend, suspended } from "../suspended-work.ts";

/** What was accepted outlives the engine that accepted it. */
export function reopeningCases(test: PublicCase): void {
	test("work, payloads, attempts, events and lists are as they were", async (scene) => {
		const big = "x".repeat(50_000);
		const { id, fence } = await scene.start({ input: { big }, priority: 3, policy: { maxReplays: 2 } });
		await scene.backend.leases.complete(id, { fence, result: { big } });
		await scene.backend.executions.replay(id);
		const again = await scene.take();
		await scene.backend.leases.fail(id, { fence: again.fence, reason: "broken" });
		const waiting = await scene.create({ lane: "elsewhere", delayMs: 60_000 });
		const look = async () => [
			await scene.get(id),
			await scene.get(waiting),
			await scene.events(id),
			await scene.backend.executions.attempts(id),
			await scene.backend.executions.input(id),
			await scene.listed(),
		];
		const before = await look();
		await scene.reopen();
		expect(await look()).toEqual(before);
	});

	test("keys, and with them tokens, are as they were, and a grace that ended meanwhile has ended", async (scene) => {
		const { id: executionId, fence } = await scene.start();
		const { id, token } = await scene.backend.leases.createWaitpoint(executionId, { fence, key: "door" });
		await scene.ff.rotateWaitpointSecret();
		const later = (await scene.backend.waitpoints.token(executionId, id)).token;
		await scene.reopen();
		expect((await scene.backend.waitpoints.token(executionId, id)).token).toBe(later);
		const signal = (with_: string) =>
			scene.backend.waitpoints.signal(executionId, { waitpointId: id, token: with_, name: "knock" });
		expect(await signal(token)).toMatchObject({ status: "accepted" });
		await scene.reopen(86_400_000);
		expect((await refusal(signal(token))).code).toBe("token_expired");
		expect(await signal(later)).toMatchObject({ status: "accepted" });
		expect(await scene.ff.rotateWaitpointSecret()).toMatchObject({ kid: "k3", previousKid: "k2" });
	});

	test("budgets, quotas, ledgers and dedup keys are as they were, and a period that ended meanwhile has ended", async (scene) => {
		const { budgets, quotas } = scene.backend;
		await budgets.create({ id: "team", dimensions: { tokens: { hard: 100, soft: 5 } }, labels: { owner: "ada" } });
		await budgets.create({ id: "hourly", dimensions: { tokens: { hard: 10 } }, resetEvery: 3_600_000 });
		await quotas.create({ id: "openai", rate: { max: 10, windowMs: 1000 }, concurrency: 5, jitterMs: 3 });
		const executionId = await scene.create({ budgets: ["team"], quotas: ["openai"], reserve: { team: { tokens: 1 } } });
		await budgets.usage("team", { dims: { tokens: 50, other: 1 }, executionId, dedupKey: "k" });
		await budgets.usage("team", { dims: { tokens: 51 } });
		await budgets.usage("hourly", { dims: { tokens: 10 } });
		const look = async () => [
			await scene.ff.budgets.get("team"),
			await scene.ff.budgets.ledger("team"),
			await scene.ff.quotas.get("openai"),
			await scene.ff.quotas.list(),
			await scene.get(executionId),
		];
		const before = await look();
		await scene.reopen(3_599_999);
		expect(await look()).toEqual(before);
		expect((await scene.ff.budgets.get("hourly")).dimensions.tokens?.used).toBe(10);
		await scene.reopen(1);
		expect((await scene.ff.budgets.get("hourly")).dimensions.tokens?.used).toBe(0);
		const again = await scene.ff.budgets.usage("team", { dims: { tokens: 50 }, executionId, dedupKey: "k" });
		expect(again).toMatchObject({ outcome: "soft_breach", current: 50, duplicate: true });
	});

	test("what waits, its tokens and the signals that came are as they were", async (scene) => {
		const condition = { count: { n: 3, distinctBy: "source" } } as const;
		const work = await suspended(scene, { condition, timeoutMs: 3_600_000, idempotencyKey: "step" });
		await work.send("yes", { source: { type: "person", identity: "ann" }, payload: "x".repeat(50_000) });
		const held = await scene.start({}, { leaseMs: 3_600_000 });
		const early = await scene.backend.leases.createWaitpoint(held.id, { fence: held.fence, key: "w" });
		await send(scene, held.id, early, "go", { payload: 1, idempotencyKey: "k" });
		const look = async () => [
			await scene.get(work.id),
			await scene.backend.waitpoints.list(work.id),
			await scene.backend.waitpoints.token(work.id, work.at().id),
			await scene.backend.waitpoints.signals(work.id),
			await scene.backend.waitpoints.inbox(),
			await scene.backend.executions.explain(work.id),
		];
		const before = await look();
		await scene.reopen();
		expect(await look()).toEqual(before);
		// Marks of what counted and keys of what was sent are kept, too.
		const again = await send(scene, work.id, work.at(), "yes", { source: { type: "person", identity: "ann" } });
		expect(again.effect).toBe("appended_duplicate");
		expect((await send(scene, held.id, early, "go", { idempotencyKey: "k" })).status).toBe("duplicate");
		expect(await suspend(scene, held)).toMatchObject({ status: "already_satisfied", signals: [{ payload: 1 }] });
	});

	test("a suspension that timed out while nobody was there has timed out, a waitpoint that expired has expired", async (scene) => {
		const late = await suspended(scene, { timeoutMs: 5000, timeoutBehavior: "resume" });
		const patient = await suspended(scene, { timeoutMs: 50_000 });
		const held = await scene.start({}, { leaseMs: 60_000 });
		const early = await scene.backend.leases.createWaitpoint(held.id, { fence: held.fence, key: "w", expiresMs: 5000 });
		await scene.reopen(10_000);
		await scene.clock.advance(100);
		expect((await scene.get(late.id)).publicState).toBe("waiting");
		expect((await scene.take()).signals).toMatchObject([{ name: "timeout" }]);
		expect((await scene.get(patient.id)).publicState).toBe("suspended");
		expect(await refusal(send(scene, held.id, early))).toMatchObject({ code: "token_expired" });
		expect((await send(scene, patient.id, patient.at())).effect).toBe("resumed");
	});

	test("waiting work is claimed in its order after opening again", async (scene) => {
		const low = await scene.create({ priority: 1 });
		const high = await scene.create({ priority: 2 });
		await scene.reopen();
		expect((await scene.claim({ max: 2 })).map(({ id }) => id)).toEqual([high, low]);
	});

	test("work created before is older than work created after", async (scene) => {
		const before = await scene.create();
		await scene.reopen(1);
		const after = await scene.create();
		expect((await scene.take()).id).toBe(before);
		expect((await scene.take()).id).toBe(after);
	});

	test("a lease outlives its engine: the holder goes on with its fence", async (scene) => {
		const { id, fence } = await scene.start({}, { leaseMs: 10_000 });
		await scene.reopen(5000);
		expect((await scene.get(id)).publicState).toBe("active");
		expect(await scene.backend.leases.complete(id, { fence, result: 1 })).toEqual({ publicState: "completed" });
	});

	test("a lease that ran out meanwhile waits a third of its ttl for its holder to renew", async (scene) => {
		const { id, fence } = await scene.start({}, { leaseMs: 9000 });
		await scene.reopen(60_000);
		await scene.clock.advance(2999);
		expect(await scene.get(id)).toMatchObject({ publicState: "active", state: { ownershipState: "lease_expired" } });
		const [renewed] = await scene.backend.leases.renew({ leases: [{ executionId: id, ...fence }] });
		expect(renewed).toMatchObject({ ok: true, expiresAt: scene.now + 9000 });
		await scene.clock.advance(8999);
		expect(await scene.get(id)).toMatchObject({ publicState: "active", state: { ownershipState: "leased" } });
	});

	test("a lease that nobody renews after opening lapses when a third of its ttl is over", async (scene) => {
		const { id } = await scene.start({}, { leaseMs: 9000 });
		await scene.reopen(60_000);
		await scene.clock.advance(2999);
		expect((await scene.get(id)).publicState).toBe("active");
		await scene.clock.advance(1);
		expect(await scene.get(id)).toMatchObject({ publicState: "waiting", reclaims: 1 });
	});

	test("a long lease waits 10 seconds for its holder, not a third of its ttl", async (scene) => {
		const { id } = await scene.start({}, { leaseMs: 3_600_000 });
		await scene.reopen(2 * 3_600_000);
		await scene.clock.advance(9999);
		expect((await scene.get(id)).publicState).toBe("active");
		await scene.clock.advance(1);
		expect((await scene.get(id)).publicState).toBe("waiting");
	});

	test("a lease that has not run out lapses at its own time if that is later", async (scene) => {
		const { id } = await scene.start({}, { leaseMs: 30_000 });
		await scene.reopen(5000);
		await scene.clock.advance(24_999);
		expect((await scene.get(id)).publicState).toBe("active");
		await scene.clock.advance(1);
		expect((await scene.get(id)).publicState).toBe("waiting");
	});

	test("delays and retries that came due meanwhile are late, not lost", async (scene) => {
		const retry = { backoff: { type: "fixed" as const, delayMs: 1000 } };
		const { id, fence } = await scene.start({ policy: { retry } });
		await scene.backend.leases.fail(id, { fence, reason: "broken" });
		const delayed = await scene.create({ delayMs: 1000 });
		await scene.reopen(60_000);
		await scene.clock.settle();
		expect((await scene.claim({ max: 5 })).map((each) => each.id)).toEqual([id, delayed]);
	});

	test("delays still running end at their time", async (scene) => {
		const id = await scene.create({ delayMs: 10_000 });
		await scene.reopen(4000);
		await scene.clock.advance(5999);
		expect((await scene.get(id)).publicState).toBe("delayed");
		await scene.clock.advance(1);
		expect((await scene.get(id)).publicState).toBe("waiting");
	});

	test("deadlines, grace and retention that came due meanwhile take effect", async (scene) => {
		const deadline = await scene.create({ policy: { timeouts: { deadlineMs: 1000 } } });
		const trimmed = await scene.finished({ lane: "elsewhere", policy: { retentionMs: 1000 } });
		const asked = await scene.start({ lane: "asked" }, { leaseMs: 3_600_000 });
		await scene.backend.executions.cancel(asked.id, { graceMs: 1000 });
		await scene.reopen(60_000);
		await scene.clock.settle();
		expect((await scene.get(deadline)).publicState).toBe("expired");
		expect((await scene.get(asked.id)).publicState).toBe("cancelled");
		expect((await refusal(scene.backend.executions.get(trimmed.id))).code).toBe("execution_not_found");
	});

	test("a repeated command still gives its first answer", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retry: { backoff: { type: "fixed", delayMs: 60_000 } } } });
		const answer = await scene.backend.leases.fail(id, { fence, reason: "broken" });
		await scene.reopen(1000);
		expect(await scene.backend.leases.fail(id, { fence, reason: "broken" })).toEqual(answer);
	});

	test("an idempotency key still leads to its execution", async (scene) => {
		const id = await scene.create({ idempotencyKey: "k", input: 1 });
		await scene.reopen(1000);
		expect(await scene.create({ idempotencyKey: "k", input: 1 })).toBe(id);
		expect((await refusal(scene.create({ idempotencyKey: "k", input: 2 }))).code).toBe("idempotency_conflict");
	});

	test("cursors of lists and events go on where they were", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 6; n++) {
			ids.unshift(await scene.create());
			await scene.clock.advance(1);
		}
		const page = await scene.backend.executions.list({ limit: 3 });
		const { id } = await scene.take();
		const { nextCursor } = await scene.backend.executions.events(id, { limit: 1 });
		await scene.reopen();
		await scene.create();
		const rest = await scene.backend.executions.list({ limit: 10, cursor: page.nextCursor ?? "" });
		expect(rest.executions.map((each) => each.id)).toEqual(ids.slice(3));
		const since = await scene.backend.executions.events(id, { cursor: nextCursor });
		expect(since.events.map(({ type }) => type)).toEqual(["claimed"]);
	});

	test("events go on with the next number", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.reopen();
		await scene.backend.leases.complete(id, { fence });
		expect((await scene.events(id)).map(({ seq, type }) => [seq, type])).toEqual([
			[1, "created"],
			[2, "claimed"],
			[3, "completed"],
		]);
	});

	test("leases claimed after opening have the next epoch", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.leases.release(id, { fence });
		await scene.reopen();
		expect(await scene.take()).toMatchObject({ id, lease: { epoch: 2 } });
	});

	test("a repeated claim still gives the leases of the first", async (scene) => {
		await scene.create();
		await scene.create();
		const first = await scene.claim({ requestId: "r" });
		await scene.reopen(1000);
		expect(await scene.claim({ requestId: "r" })).toEqual(first);
		await scene.clock.advance(29_000);
		expect((await scene.take({ requestId: "r" })).lease.id).not.toBe(first[0]?.lease.id);
	});

	test("registered workers are still there, and gone if their time came meanwhile", async (scene) => {
		const offer = { workerId: "w", capabilities: ["gpu"], lanes: ["default"] };
		const long = await scene.backend.workers.register("long", { ...offer, ttlMs: 60_000 });
		await scene.backend.workers.register("short", offer);
		await scene.reopen(30_000);
		expect(await scene.ff.workers()).toEqual({ workers: [long] });
	});

	test("lanes are as deep as they were", async (scene) => {
		for (let n = 0; n < 5; n++) await scene.create({ lane: "a" });
		await scene.finished({ lane: "b" });
		const { lanes } = await scene.ff.lanes();
		await scene.reopen();
		expect(await scene.ff.lanes()).toEqual({ lanes: lanes.map((lane) => ({ ...lane, perMinute: 0 })) });
	});

	test("a feed goes on where it was and skips nothing", async (scene) => {
		const before = await scene.create();
		const { nextCursor } = await scene.ff.feed();
		await scene.clock.advance(1);
		const unread = await scene.create();
		await scene.reopen(1000);
		const after = await scene.create();
		const { events } = await scene.ff.feed({ cursor: nextCursor });
		expect(events.map(({ executionId }) => executionId)).toEqual([unread, after]);
		expect((await scene.ff.feed()).events[0]?.executionId).toBe(before);
	});
}
