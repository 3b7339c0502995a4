import { describe, expect, it } from "vitest";
import { explainRecord, type Facts, factsNeeded } from "../../src/kernel/explaining.ts";
import type { Upstream } from "../../src/kernel/flows/describing.ts";
import { resultOf } from "../../src/kernel/reading.ts";
import { type ExecutionRecord, type Group, makeExecution } from "../../src/kernel/records/execution.ts";
import { laneDefaults, makeLane } from "../../src/kernel/records/lane.ts";
import { makeSuspension } from "../../src/kernel/records/suspension.ts";
import { makeWorker, type WorkerRecord } from "../../src/kernel/records/worker.ts";
import { WorkersFor } from "../../src/kernel/serving.ts";
import { blocked, claimed, delayed, eligible, ended, granted } from "../../src/kernel/state.ts";
import type { Condition } from "../../src/kernel/suspension/condition.ts";
import { describeCondition } from "../../src/kernel/suspension/describing.ts";

const NOON = Date.UTC(2030, 0, 1, 12);
const id = `ex_${"0".repeat(32)}_7`;
const first = "pending_first_attempt";
const record = (fields: Partial<ExecutionRecord>): ExecutionRecord =>
	makeExecution({ id, kind: "job", lane: "media", createdAt: 1000, ...fields });
const worker = (capabilities: string[], fields: object = {}) =>
	makeWorker({ capabilities, lanes: ["media"], ...fields });
const lane = laneDefaults;
const next = { ahead: 0, exact: true };

function explain(
	execution: ExecutionRecord,
	{ workers, ...facts }: Omit<Facts, "workers"> & { workers?: WorkerRecord[] },
) {
	const seen = new WorkersFor(execution);
	for (const one of workers ?? []) seen.see(one);
	return explainRecord(execution, { ...facts, ...(workers ? { workers: seen } : undefined) });
}

describe("what a suspension waits for", () => {
	const described = (condition: Condition, counts: number[]) =>
		describeCondition(makeSuspension({ condition, counts, waitpoints: [{ id: "wp", key: "w" }] }));

	it("is told form by form", () => {
		expect(described({ signal: "go" }, [0])).toBe("signal go at w");
		expect(described({ signal: "go", waitpoint: "v" }, [0])).toBe("signal go at v");
		expect(described({ anySignal: true }, [0])).toBe("any signal at w");
		expect(described({ operatorOnly: true }, [0])).toBe("an operator to resume it");
		expect(described({ timeoutOnly: true }, [0])).toBe("its timeout");
		expect(described({ count: { n: 2, distinctBy: "source", match: "yes" } }, [1])).toBe(
			"2 signals yes from different sources, of which 1 came",
		);
		expect(described({ count: { n: 3, distinctBy: "waitpoint", waitpoints: ["a", "b", "c"] } }, [0])).toBe(
			"3 signals from different waitpoints at a, b, c, of which 0 came",
		);
	});

	it("leaves out what has come, where all of it is needed", () => {
		const nested: Condition = {
			allOf: [{ signal: "a" }, { anyOf: [{ signal: "b" }, { signal: "c" }] }, { signal: "d" }],
		};
		expect(described(nested, [0, 0, 0, 0])).toBe(
			"all of (signal a at w; one of (signal b at w; signal c at w); signal d at w)",
		);
		expect(described(nested, [1, 0, 0, 1])).toBe("one of (signal b at w; signal c at w)");
		expect(described(nested, [0, 1, 0, 0])).toBe("all of (signal a at w; signal d at w)");
	});
});

describe("why an execution does not run", () => {
	it("needs workers only while it waits, and its place in line only while it can be claimed", () => {
		const needed = (fields: Partial<ExecutionRecord>) => factsNeeded(record(fields));
		const none = {
			workers: false,
			standing: false,
			refusals: false,
			suspension: false,
			upstreams: false,
			children: false,
		};
		expect(needed(eligible(first))).toEqual({ ...none, workers: true, standing: true });
		expect(needed(granted(first))).toEqual({ ...none, workers: true });
		expect(needed(delayed("waiting_for_delay", first))).toEqual({ ...none, workers: true });
		expect(needed(claimed())).toEqual(none);
		expect(needed(ended("success", true))).toEqual(none);
	});

	it("is who is missing, before where it stands", () => {
		const waiting = record({ ...eligible(first), requiredCapabilities: ["gpu"] });
		expect(explain(waiting, { lane, workers: [worker(["eu"])], standing: next })).toEqual({
			reasons: ["no live worker offers gpu", "it is next on lane media"],
			workers: { live: 1, able: 0 },
			missingCapabilities: ["gpu"],
		});
		expect(explain(waiting, { lane, workers: [], standing: { ahead: 3, exact: false } }).reasons).toEqual([
			"no live worker offers gpu",
			"at least 3 executions are ahead of it on lane media",
		]);
		const idle = record({ ...eligible(first) });
		expect(explain(idle, { lane, workers: [worker([], { lanes: ["other"] })], standing: next })).toEqual({
			reasons: ["no live worker takes kind job on lane media", "it is next on lane media"],
			workers: { live: 1, able: 0 },
		});
	});

	it("is a paused lane before all that follows from it", () => {
		const paused = makeLane({ state: "paused" });
		const { reasons } = explain(record({ ...eligible(first) }), { lane: paused, workers: [], standing: next });
		expect(reasons).toEqual([
			"lane media is paused",
			"no live worker takes kind job on lane media",
			"it is next on lane media",
		]);
	});

	it("of work that was set aside is what its route comes to now", () => {
		const aside = record({
			...blocked("blocked_by_route", "waiting_for_capable_worker", first),
			blockingDetail: "no live worker offers gpu",
			requiredCapabilities: ["gpu"],
		});
		expect(explain(aside, { lane, workers: [] }).reasons).toEqual(["no live worker offers gpu"]);
		expect(explain(aside, { lane, workers: [worker(["gpu"])] }).reasons).toEqual([
			"a worker that can serve it has registered; it is about to be released",
		]);
	});

	it("is who holds it, or how it ended", () => {
		const held = { id: "le", epoch: 1, ttlMs: 1, acquiredAt: 0, expiresAt: NOON, workerId: "w", instanceId: "w-1" };
		const running = record({ ...claimed(), lease: held });
		expect(explain(running, { lane }).reasons).toEqual([
			"it is running on w-1, under a lease until 2030-01-01T12:00:00.000Z",
		]);
		const asked = record({ ...running, cancel: { source: "operator", requestedAt: 1 } });
		expect(explain(asked, { lane }).reasons[0]).toMatch(/; a cancel was requested$/);
		const failure = { reason: "broken", category: "error" };
		const failed = record({ ...ended("failed", true), completedAt: NOON, failure });
		expect(explain(failed, { lane }).reasons).toEqual(["it failed at 2030-01-01T12:00:00.000Z: broken"]);
	});
});

describe("a result", () => {
	const result = { size: 1, text: "1" };
	const attempt = {
		index: 0,
		type: "initial",
		state: "started",
		workerId: "w",
		instanceId: "i",
		startedAt: 1,
	} as const;

	it("is there once the work has succeeded, and has one", () => {
		const over = record({ ...ended("success", true), attempt: { ...attempt, result } });
		expect(resultOf(over)).toEqual({ ok: true, result });
		const without = record({ ...ended("success", true), attempt });
		expect(resultOf(without)).toMatchObject({ code: "result_not_found", details: { outcome: "success" } });
	});

	it("is not ready before, and never there when it ended otherwise", () => {
		expect(resultOf(record(claimed()))).toMatchObject({ ok: false, code: "result_not_ready" });
		const cancelled = record({ ...ended("cancelled", true), attempt: { ...attempt, result } });
		expect(resultOf(cancelled)).toMatchObject({ code: "result_not_found", details: { outcome: "cancelled" } });
	});
});

describe("a member of a flow", () => {
	const noGroup: Group = { policy: "all_of", edges: 3, satisfied: 0, impossible: 0 };
	const member = (group: Partial<Group>) =>
		record({
			...blocked("blocked_by_dependencies", "waiting_for_children", first),
			member: { key: "deploy", number: 4, group: { ...noGroup, ...group } },
		});
	const toldOf = (group: Partial<Group>) => explain(member(group), { lane, workers: [] }).reasons[0];

	it("is told how many upstreams it waits for", () => {
		expect(factsNeeded(member({})).upstreams).toBe(true);
		expect(toldOf({ satisfied: 1 })).toBe("waiting for all of 3 upstreams: 1 satisfied, 2 to come");
		expect(toldOf({ policy: "any_of", impossible: 1 })).toBe(
			"waiting for any of 3 upstreams: 0 satisfied, 2 to come, 1 can no longer be",
		);
		expect(toldOf({ policy: "quorum", quorum: 2, edges: 5, satisfied: 1 })).toBe(
			"waiting for 2 of 5 upstreams: 1 satisfied, 4 to come",
		);
		expect(toldOf({ policy: "any_of", edges: 0 })).toBe("waiting for an upstream, but it has none yet");
	});

	it("is told which of them are not done, and how many more there are", () => {
		const upstreams: Upstream[] = [
			{ key: "unit", publicState: "active" },
			{ key: "lint", publicState: "waiting" },
		];
		const { reasons } = explain(member({ edges: 5, satisfied: 1 }), { lane, workers: [], upstreams });
		expect(reasons).toContain("not done yet: unit (active), lint (waiting) and 2 more");
	});

	it("that a cancel of its flow has paused is told so", () => {
		const paused = record(blocked("blocked_by_operator", "paused_by_flow_cancel", first));
		expect(explain(paused, { lane, workers: [] }).reasons[0]).toMatch(/^its flow was cancelled/);
	});
});
