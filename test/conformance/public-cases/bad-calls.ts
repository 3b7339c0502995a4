import { expect } from "vitest";
import type { Backend } from "../../../src/index.ts";
import { type FenceLike, type PublicCase, refusal, unknownId } from "../scene.ts";

const HUNDRED_YEARS = 100 * 365 * 86_400_000;
const worker = { workerId: "w", instanceId: "w-1" };
const lease = { executionId: unknownId, leaseId: "x", epoch: 1 };

interface Target {
	id: string;
	fence: FenceLike;
}

type Call = (backend: Backend, target: Target) => Promise<unknown>;

/** By what is wrong: a call on work that is running, and the field its refusal names. */
const badCalls: Record<string, [call: Call, field: string]> = {
	"a claim without workerId": [(b) => b.leases.claim({ instanceId: "i" } as never), "workerId"],
	"a claim without instanceId": [(b) => b.leases.claim({ workerId: "w" } as never), "instanceId"],
	"a claim with a line break in instanceId": [
		(b) => b.leases.claim({ workerId: "w", instanceId: "a\nb" }),
		"instanceId",
	],
	"a claim of 0": [(b) => b.leases.claim({ ...worker, max: 0 }), "max"],
	"a claim of 257": [(b) => b.leases.claim({ ...worker, max: 257 }), "max"],
	"a claim of a fraction": [(b) => b.leases.claim({ ...worker, max: 1.5 }), "max"],
	"a claim on no lane": [(b) => b.leases.claim({ ...worker, lanes: [] }), "lanes"],
	"a claim on a bad lane": [(b) => b.leases.claim({ ...worker, lanes: ["ok", "a,b"] }), "lanes[1]"],
	"a claim of no kind": [(b) => b.leases.claim({ ...worker, kinds: [] }), "kinds"],
	"a claim of an empty kind": [(b) => b.leases.claim({ ...worker, kinds: ["a", ""] }), "kinds[1]"],
	"a claim in a bad namespace": [(b) => b.leases.claim({ ...worker, namespace: "a/b" }), "namespace"],
	"a claim with a lease of 99 ms": [(b) => b.leases.claim({ ...worker, leaseMs: 99 }), "leaseMs"],
	"a claim with a lease over an hour": [(b) => b.leases.claim({ ...worker, leaseMs: 3_600_001 }), "leaseMs"],
	"a claim that would wait longer than 30 s": [(b) => b.leases.claim({ ...worker, waitMs: 30_001 }), "waitMs"],
	"a claim with a negative wait": [(b) => b.leases.claim({ ...worker, waitMs: -1 }), "waitMs"],
	"a claim with an unknown field": [(b) => b.leases.claim({ ...worker, lane: "x" } as never), "lane"],

	"a renewal without leases": [(b) => b.leases.renew({} as never), "leases"],
	"a renewal of a malformed id": [
		(b) => b.leases.renew({ leases: [{ ...lease, executionId: "x" }] }),
		"leases[0].executionId",
	],
	"a renewal without an epoch": [
		(b) => b.leases.renew({ leases: [lease, { executionId: unknownId, leaseId: "x" } as never] }),
		"leases[1].epoch",
	],
	"a renewal with a lease of 0": [(b) => b.leases.renew({ leases: [], leaseMs: 0 }), "leaseMs"],

	"a complete with both kinds of result": [
		(b, { id, fence }) => b.leases.complete(id, { fence, result: 1, resultBase64: "AAAA" }),
		"resultBase64",
	],
	"a complete with broken base64": [
		(b, { id, fence }) => b.leases.complete(id, { fence, resultBase64: "*" }),
		"resultBase64",
	],
	"a complete with a function as result": [
		(b, { id, fence }) => b.leases.complete(id, { fence, result: () => 1 }),
		"result",
	],
	"a complete with an unknown field": [
		(b, { id, fence }) => b.leases.complete(id, { fence, output: 1 } as never),
		"output",
	],
	"a fence that is no object": [(b, { id }) => b.leases.complete(id, { fence: "mine" as never }), "fence"],
	"a fence without an epoch": [
		(b, { id, fence }) => b.leases.complete(id, { fence: { leaseId: fence.leaseId } as never }),
		"fence.epoch",
	],
	"a fence with an epoch as text": [
		(b, { id, fence }) => b.leases.release(id, { fence: { leaseId: fence.leaseId, epoch: "1" as never } }),
		"fence.epoch",
	],
	"a fence with an unknown field": [
		(b, { id, fence }) => b.leases.release(id, { fence: { ...fence, token: 1 } as never }),
		"fence.token",
	],

	"a joint complete that is no list": [(b) => b.leases.completeMany("all" as never), "items"],

	"a fail without a reason": [(b, { id, fence }) => b.leases.fail(id, { fence } as never), "reason"],
	"a fail with an empty reason": [(b, { id, fence }) => b.leases.fail(id, { fence, reason: "" }), "reason"],
	"a fail with a reason of 4097 characters": [
		(b, { id, fence }) => b.leases.fail(id, { fence, reason: "x".repeat(4097) }),
		"reason",
	],
	"a fail with an empty category": [
		(b, { id, fence }) => b.leases.fail(id, { fence, reason: "x", category: "" }),
		"category",
	],
	"a fail with retryable as text": [
		(b, { id, fence }) => b.leases.fail(id, { fence, reason: "x", retryable: "no" as never }),
		"retryable",
	],
	"a fail with a negative retryAfterMs": [
		(b, { id, fence }) => b.leases.fail(id, { fence, reason: "x", retryAfterMs: -1 }),
		"retryAfterMs",
	],
	"a fail to be retried in a hundred years": [
		(b, { id, fence }) => b.leases.fail(id, { fence, reason: "x", retryAfterMs: HUNDRED_YEARS }),
		"retryAfterMs",
	],

	"a delay without a time": [(b, { id, fence }) => b.leases.delay(id, { fence }), "delayMs"],
	"a delay with two times": [(b, { id, fence }) => b.leases.delay(id, { fence, delayMs: 1, delayUntil: 1 }), "delayMs"],
	"a negative delay": [(b, { id, fence }) => b.leases.delay(id, { fence, delayMs: -1 }), "delayMs"],
	"a delay of a hundred years": [
		(b, { id, fence }) => b.leases.delay(id, { fence, delayMs: HUNDRED_YEARS }),
		"delayMs",
	],
	"a delay until a hundred years hence": [
		(b, { id, fence }) => b.leases.delay(id, { fence, delayUntil: 1_700_000_000_000 + HUNDRED_YEARS }),
		"delayUntil",
	],
	"a progress below 0": [(b, { id, fence }) => b.leases.progress(id, { fence, percent: -0.1 }), "percent"],
	"a progress above 100": [(b, { id, fence }) => b.leases.progress(id, { fence, percent: 101 }), "percent"],
	"a progress that is NaN": [(b, { id, fence }) => b.leases.progress(id, { fence, percent: Number.NaN }), "percent"],
	"a progress message of 1025 characters": [
		(b, { id, fence }) => b.leases.progress(id, { fence, message: "x".repeat(1025) }),
		"message",
	],

	"a cancel of an unknown mode": [(b, { id }) => b.executions.cancel(id, { mode: "hard" as never }), "mode"],
	"a cancel with a negative grace": [(b, { id }) => b.executions.cancel(id, { graceMs: -1 }), "graceMs"],
	"a cancel with a grace of a hundred years": [
		(b, { id }) => b.executions.cancel(id, { graceMs: HUNDRED_YEARS }),
		"graceMs",
	],
	"a cancel with an empty reason": [(b, { id }) => b.executions.cancel(id, { reason: "" }), "reason"],
	"a cancel with an unknown field": [(b, { id }) => b.executions.cancel(id, { force: true } as never), "force"],
	"a cancel with half a fence": [
		(b, { id }) => b.executions.cancel(id, { fence: { epoch: 1 } as never }),
		"fence.leaseId",
	],
	"a revoke with an unknown field": [(b, { id }) => b.executions.revokeLease(id, { leaseId: "x" } as never), "leaseId"],
	"a revoke of an empty lease": [
		(b, { id }) => b.executions.revokeLease(id, { expectedLeaseId: "" }),
		"expectedLeaseId",
	],

	"a cancel with an epoch of 0": [
		(b, { id, fence }) => b.executions.cancel(id, { fence: { ...fence, epoch: 0 } }),
		"fence.epoch",
	],
	"a priority without its value": [(b, { id }) => b.executions.changePriority(id, {} as never), "priority"],
	"a priority with a fraction": [(b, { id }) => b.executions.changePriority(id, { priority: 0.5 }), "priority"],
	"a priority with an unknown field": [
		(b, { id }) => b.executions.changePriority(id, { priority: 1, reason: "x" } as never),
		"reason",
	],
	"tags to set that are no object": [(b, { id }) => b.executions.setTags(id, { set: "a:b" as never }), "set"],
	"a tag to set that is no string": [(b, { id }) => b.executions.setTags(id, { set: { a: 1 as never } }), "set.a"],
	"tags to remove that are no list": [(b, { id }) => b.executions.setTags(id, { remove: "a" as never }), "remove"],
	"tags with an unknown field": [(b, { id }) => b.executions.setTags(id, { tags: {} } as never), "tags"],

	"a list of 0": [(b) => b.executions.list({ limit: 0 }), "limit"],
	"a list of 1001": [(b) => b.executions.list({ limit: 1001 }), "limit"],
	"a list of an unknown state": [(b) => b.executions.list({ state: "running" as never }), "state"],
	"a list of a bad lane": [(b) => b.executions.list({ lane: "a,b" }), "lane"],
	"a list of a bad namespace": [(b) => b.executions.list({ namespace: "*" }), "namespace"],
	"a list with an unknown field": [(b) => b.executions.list({ offset: 5 } as never), "offset"],
	"a list of an empty kind": [(b) => b.executions.list({ kind: "" }), "kind"],
	"a list of a tag without a value": [(b) => b.executions.list({ tag: "team" }), "tag"],
	"a list from a negative time": [(b) => b.executions.list({ createdAfter: -1 }), "createdAfter"],
	"a list up to a fraction of a time": [(b) => b.executions.list({ createdBefore: 1.5 }), "createdBefore"],
	"a bulk without a filter": [(b) => b.executions.bulk({ action: "cancel" } as never), "filter"],
	"a bulk without an action": [(b) => b.executions.bulk({ filter: { kind: "job" } } as never), "action"],
	"a bulk of an unknown action": [
		(b) => b.executions.bulk({ filter: { kind: "job" }, action: "pause" as never }),
		"action",
	],
	"a bulk with a limit": [
		(b) => b.executions.bulk({ filter: { kind: "job", limit: 5 } as never, action: "cancel" }),
		"filter.limit",
	],
	"a bulk with a bad filter": [(b) => b.executions.bulk({ filter: { lane: "a,b" }, action: "cancel" }), "filter.lane"],
	"a bulk replay with a reason": [
		(b) => b.executions.bulk({ filter: { kind: "job" }, action: "replay", reason: "x" }),
		"reason",
	],
	"a list of workers with a cursor that was never given": [(b) => b.workers.list({ cursor: "x" }), "cursor"],
	"a list of workers with a page of none": [(b) => b.workers.list({ limit: 0 }), "limit"],
	"a list of lanes with a cursor that was never given": [(b) => b.lanes.list({ cursor: "x" }), "cursor"],
	"a list of lanes with a page too large": [(b) => b.lanes.list({ limit: 1001 }), "limit"],
	"a bulk with a cursor that was never given": [
		(b) => b.executions.bulk({ filter: { kind: "job" }, action: "cancel", cursor: "x" }),
		"cursor",
	],
	"a wait for events below 0": [(b, { id }) => b.executions.events(id, { waitMs: -1 }), "waitMs"],
	"a wait for events over 30 s": [(b, { id }) => b.executions.events(id, { waitMs: 30_001 }), "waitMs"],
	"a page of 0 events": [(b, { id }) => b.executions.events(id, { limit: 0 }), "limit"],
	"a page of 1001 events": [(b, { id }) => b.executions.events(id, { limit: 1001 }), "limit"],
	"a wait with a negative timeout": [(b, { id }) => b.executions.wait(id, { timeoutMs: -1 }), "timeoutMs"],
	"a wait with a timeout as text": [(b, { id }) => b.executions.wait(id, { timeoutMs: "5" as never }), "timeoutMs"],
};

const hex = "0".repeat(32);
const malformed = [
	"",
	"job-17",
	`fl_${hex}_0`,
	`le_${hex}_0`,
	`ex_${hex}`,
	`ex_${hex}_`,
	`ex_${hex}_16384`,
	`ex_${hex}_99999`,
	`ex_${hex}_007`,
	`ex_${hex}_+1`,
	`ex_${hex}_1.0`,
	`ex_${hex}_0\n`,
	` ex_${hex}_0`,
	`ex_${hex.slice(1)}_0`,
	`ex_${hex}0_0`,
	`EX_${hex}_0`,
	`ex_${"g".repeat(32)}_0`,
	`ex_${"A".repeat(32)}_0`,
];

export function badCallCases(test: PublicCase): void {
	for (const [what, [call, field]] of Object.entries(badCalls)) {
		test(`${what} is refused by name and changes nothing`, async (scene) => {
			const { id, fence } = await scene.start();
			const there = await scene.create();
			const before = [await scene.get(id), await scene.events(id), await scene.get(there), await scene.listed()];
			const error = await refusal(Promise.resolve().then(() => call(scene.backend, { id, fence })));
			expect(error).toMatchObject({ code: "invalid_input", status: 400, retryable: false, details: { field } });
			expect(error.message).toContain(field);
			const after = [await scene.get(id), await scene.events(id), await scene.get(there), await scene.listed()];
			expect(after).toEqual(before);
		});
	}

	test("a malformed id is refused by every call about an execution", async (scene) => {
		const { id, fence } = await scene.start();
		const { backend } = scene;
		const calls: Record<string, (bad: string) => Promise<unknown>> = {
			get: (bad) => backend.executions.get(bad),
			input: (bad) => backend.executions.input(bad),
			result: (bad) => backend.executions.result(bad),
			wait: (bad) => backend.executions.wait(bad, { timeoutMs: 0 }),
			events: (bad) => backend.executions.events(bad),
			attempts: (bad) => backend.executions.attempts(bad),
			cancel: (bad) => backend.executions.cancel(bad),
			replay: (bad) => backend.executions.replay(bad),
			delete: (bad) => backend.executions.delete(bad),
			revokeLease: (bad) => backend.executions.revokeLease(bad),
			changePriority: (bad) => backend.executions.changePriority(bad, { priority: 1 }),
			setTags: (bad) => backend.executions.setTags(bad, {}),
			complete: (bad) => backend.leases.complete(bad, { fence }),
			fail: (bad) => backend.leases.fail(bad, { fence, reason: "x" }),
			delay: (bad) => backend.leases.delay(bad, { fence, delayMs: 1 }),
			release: (bad) => backend.leases.release(bad, { fence }),
			progress: (bad) => backend.leases.progress(bad, { fence, percent: 1 }),
		};
		for (const [name, call] of Object.entries(calls)) {
			for (const bad of malformed) {
				const error = await refusal(call(bad));
				expect({ called: name, bad, ...error }).toMatchObject({
					code: "invalid_input",
					status: 400,
					details: { field: "id" },
				});
			}
		}
		expect((await scene.get(id)).publicState).toBe("active");
	});

	test("the largest slot is a good id", async (scene) => {
		expect((await refusal(scene.backend.executions.get(`ex_${hex}_16383`))).code).toBe("execution_not_found");
	});

	test("a refusal is an error with code, status, retryable, message and details", async (scene) => {
		const error = await refusal(scene.backend.executions.get("nonsense"));
		expect(error).toBeInstanceOf(Error);
		expect(error.name).toBe("FlowFabricError");
		expect({ ...error }).toMatchObject({
			code: "invalid_input",
			status: 400,
			retryable: false,
			details: { field: "id" },
		});
		expect(error.message).not.toBe("");
	});

	test("a refusal about state names the execution", async (scene) => {
		const id = await scene.create();
		for (const call of [
			() => scene.backend.executions.replay(id),
			() => scene.backend.leases.complete(id, {}),
			() => scene.backend.executions.result(id),
		]) {
			expect((await refusal(call())).details).toMatchObject({ executionId: id });
		}
		expect((await refusal(scene.backend.executions.get(unknownId))).details).toMatchObject({ executionId: unknownId });
	});
}
