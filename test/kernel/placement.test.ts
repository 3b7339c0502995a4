import { describe, expect, it } from "vitest";
import {
	classOfQueue,
	DUE_QUEUE,
	eligibleQueue,
	eligibleQueuePrefix,
	isClaimable,
	listQueue,
	listQueuePrefix,
	type WorkClass,
} from "../../src/kernel/placement.ts";
import { placement } from "../../src/kernel/record-types.ts";
import { type ExecutionRecord, makeExecution } from "../../src/kernel/records/execution.ts";
import { idempotencyKeyKey, makeIdempotencyKey } from "../../src/kernel/records/idempotency-key.ts";
import { blocked, claimed, delayed, eligible, ended } from "../../src/kernel/state.ts";
import { timersOf } from "../../src/kernel/timers.ts";

const id = `ex_${"0".repeat(32)}_7`;
const lease = {
	id: "le",
	epoch: 1,
	ttlMs: 30_000,
	acquiredAt: 2000,
	expiresAt: 32_000,
	workerId: "w",
	instanceId: "i",
};
const attempt = {
	index: 0,
	type: "initial",
	state: "started",
	workerId: "w",
	instanceId: "i",
	startedAt: 2000,
} as const;

const execution = (fields: Partial<ExecutionRecord>): ExecutionRecord =>
	makeExecution({
		id,
		kind: "job",
		namespace: "n",
		lane: "l",
		createdAt: 1000,
		...fields,
	});

const waiting = (fields: Partial<ExecutionRecord> = {}) =>
	execution({ ...eligible("pending_first_attempt"), ...fields });
const running = (fields: Partial<ExecutionRecord> = {}) => execution({ ...claimed(), lease, attempt, ...fields });
const over = (fields: Partial<ExecutionRecord> = {}) =>
	execution({ ...ended("success", true), attempt, completedAt: 5000, ...fields });

const queueOf = (fields: Partial<WorkClass> = {}) =>
	eligibleQueue({ namespace: "n", lane: "l", kind: "job", requiredCapabilities: [], ...fields });

const queuesOf = (record: ExecutionRecord) => placement(id, record).map(({ queue }) => queue);

describe("placement", () => {
	it("puts waiting work into the queue of its lane and kind, and into the list", () => {
		expect(placement(id, waiting())).toEqual([
			{ queue: listQueue("n", "l", "waiting"), score: -1000 },
			{ queue: queueOf(), score: 1000 },
		]);
	});

	it("orders by priority first, then by age", () => {
		const score = (fields: Partial<ExecutionRecord>) =>
			placement(id, waiting(fields)).find(({ queue }) => queue === queueOf())?.score ?? 0;
		const scores = [
			score({ priority: 9000, createdAt: 1_700_000_000_000 }),
			score({ priority: 1, createdAt: 1_700_000_000_000 }),
			score({ priority: 1, createdAt: 1_700_000_000_001 }),
			score({ priority: 0, createdAt: 1_600_000_000_000 }),
		];
		expect([...scores].sort((a, b) => a - b)).toEqual(scores);
		expect(new Set(scores).size).toBe(scores.length);
	});

	it("lets old work overtake where the lane says so", () => {
		const score = (fields: Partial<ExecutionRecord>) => placement(id, waiting(fields)).at(-1)?.score ?? 0;
		const urgent = score({ priority: 5, agingMs: 1000, createdAt: 10_000 });
		expect(score({ priority: 0, agingMs: 1000, createdAt: 4999 })).toBeLessThan(urgent);
		expect(score({ priority: 0, agingMs: 1000, createdAt: 5001 })).toBeGreaterThan(urgent);
	});

	it("keeps work that is delayed, held or over out of the queue", () => {
		const records = [
			execution({ ...delayed("waiting_for_delay", "pending_first_attempt"), delayUntil: 9000 }),
			running(),
			over(),
			waiting({ ownershipState: "granted" }),
			waiting({ eligibilityState: "blocked_by_quota" }),
		];
		for (const record of records) {
			expect(isClaimable(record)).toBe(false);
			expect(queuesOf(record)).not.toContain(queueOf());
		}
	});

	it("keeps work that is being removed out of everything but its own removal", () => {
		expect(placement(id, over({ removing: true }))).toEqual([{ queue: DUE_QUEUE, score: 0 }]);
	});

	it("gives every record one place at most in the due index: its first timer", () => {
		const record = running({ policy: { timeouts: { attemptMs: 500, deadlineMs: 90_000 } } });
		expect(placement(id, record).filter(({ queue }) => queue === DUE_QUEUE)).toEqual([
			{ queue: DUE_QUEUE, score: 2500 },
		]);
	});

	it("queues an idempotency key by its end, and other records nowhere", () => {
		const key = idempotencyKeyKey("n", "k");
		expect(placement(key, makeIdempotencyKey({ executionId: id, expiresAt: 77 }))).toEqual([
			{ queue: DUE_QUEUE, score: 77 },
		]);
		expect(placement(`${id}/a0`, {})).toEqual([]);
		expect(placement("lane:n:l", {})).toEqual([]);
		expect(placement("later:version", {})).toEqual([]);
	});

	it("queues work by what it needs, under a name that tells it", () => {
		const classes = [
			{ namespace: "n", lane: "l", kind: "job", requiredCapabilities: [] },
			{ namespace: "n", lane: "l", kind: ",a b,", requiredCapabilities: [] },
			{ namespace: "n", lane: "a lane", kind: "gpu,job", requiredCapabilities: ["cuda=12", "gpu", "日本"] },
			{ namespace: "n", lane: "l", kind: "job", requiredCapabilities: ["job"] },
		];
		const all = classes.flatMap((each) => [false, true].map((isGuarded) => ({ ...each, isGuarded })));
		const names = all.map(eligibleQueue);
		expect(new Set(names).size).toBe(all.length);
		expect(names.map(classOfQueue)).toEqual(all);
		expect(queuesOf(waiting({ requiredCapabilities: ["gpu"] }))).toContain(queueOf({ requiredCapabilities: ["gpu"] }));
	});

	it("names queues so that no lane is taken for another", () => {
		expect(queueOf({ kind: "a,b" }).startsWith(eligibleQueuePrefix("n", "l"))).toBe(true);
		expect(queueOf({ lane: "la" }).startsWith(eligibleQueuePrefix("n", "l"))).toBe(false);
		expect(queueOf({ namespace: "na" }).startsWith(eligibleQueuePrefix("n", "l"))).toBe(false);
		expect(listQueue("n", "l", "waiting").startsWith(listQueuePrefix("n"))).toBe(true);
		expect(listQueue("na", "l", "waiting").startsWith(listQueuePrefix("n"))).toBe(false);
		expect(listQueue("n", "la", "waiting").startsWith(listQueuePrefix("n", "l"))).toBe(false);
	});
});

describe("timers", () => {
	const at = (record: ExecutionRecord) => timersOf(record).map(({ duty, at: time }) => [duty, time]);

	it("of waiting work are its queue timeout and deadline", () => {
		const record = waiting({
			policy: { timeouts: { queueMs: 100, deadlineMs: 5000, attemptMs: 1 } },
			eligibleAt: 3000,
		});
		expect(at(record)).toEqual([
			["queue_timeout", 3100],
			["execution_deadline", 6000],
		]);
		expect(at(waiting())).toEqual([]);
	});

	it("of work that is refused admission are the same: its queue timeout runs on", () => {
		const policy = { timeouts: { queueMs: 100 } };
		const by = (cause: Parameters<typeof blocked>[0]) =>
			at(waiting({ ...blocked(cause, "waiting_for_budget", "pending_first_attempt"), policy, eligibleAt: 3000 }));
		for (const cause of ["blocked_by_budget", "blocked_by_quota", "blocked_by_route"] as const)
			expect(by(cause)).toEqual([["queue_timeout", 3100]]);
		for (const cause of ["blocked_by_dependencies", "blocked_by_operator"] as const) expect(by(cause)).toEqual([]);
	});

	it("of delayed work are the end of its delay and its deadline", () => {
		const record = execution({
			...delayed("waiting_for_delay", "pending_first_attempt"),
			delayUntil: 9000,
			policy: { timeouts: { queueMs: 1, deadlineMs: 5000 } },
		});
		expect(at(record)).toEqual([
			["execution_deadline", 6000],
			["delayed_promoter", 9000],
		]);
	});

	it("of running work are its lease, attempt timeout, deadline and the grace of a cancel", () => {
		const record = running({
			policy: { timeouts: { attemptMs: 10_000, deadlineMs: 60_000, queueMs: 1 } },
			attempt: { ...attempt, usedMs: 4000 },
			cancel: { source: "operator", requestedAt: 3000, deadlineAt: 7000 },
		});
		expect(at(record)).toEqual([
			["cancel_grace", 7000],
			["attempt_timeout", 8000],
			["lease_expiry", 32_000],
			["execution_deadline", 61_000],
		]);
	});

	it("of ended work is only its retention, and none when it is kept", () => {
		expect(at(over({ retentionMs: 1000, policy: { timeouts: { deadlineMs: 1 } } }))).toEqual([
			["retention_trimmer", 6000],
		]);
		expect(at(over({ retentionMs: 0 }))).toEqual([]);
	});
});
