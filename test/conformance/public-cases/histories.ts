import { expect } from "vitest";
import { type PublicCase, refusal } from "../scene.ts";

/** What is told about the past: events and attempts. */
export function historyCases(test: PublicCase): void {
	test("every transition is one event, numbered from 1 without a gap", async (scene) => {
		const retry = { backoff: { type: "fixed" as const, delayMs: 100 } };
		const id = await scene.create({ delayMs: 100, policy: { retry } });
		await scene.clock.advance(100);
		const first = await scene.take();
		await scene.backend.leases.delay(id, { fence: first.fence, delayMs: 100 });
		await scene.clock.advance(100);
		const second = await scene.take();
		await scene.backend.leases.release(id, { fence: second.fence });
		const third = await scene.take();
		await scene.backend.leases.fail(id, { fence: third.fence, reason: "broken" });
		await scene.clock.advance(100);
		await scene.take({ leaseMs: 1000 });
		await scene.clock.advance(1000);
		await scene.take();
		await scene.backend.executions.revokeLease(id);
		const last = await scene.take();
		await scene.backend.executions.cancel(id);
		await scene.backend.leases.complete(id, { fence: last.fence });
		await scene.backend.executions.replay(id);
		await scene.backend.executions.cancel(id);
		const events = await scene.events(id);
		expect(events.map(({ type }) => type)).toEqual([
			"created",
			"eligible",
			"claimed",
			"delayed",
			"eligible",
			"claimed",
			"lease_released",
			"claimed",
			"retry_scheduled",
			"eligible",
			"claimed",
			"lease_expired",
			"claimed",
			"lease_revoked",
			"claimed",
			"cancel_requested",
			"completed",
			"replayed",
			"cancelled",
		]);
		expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => n + 1));
		expect(events.every(({ executionId }) => executionId === id)).toBe(true);
	});

	test("an end by failure, expiry or too many lost leases is told as such", async (scene) => {
		const failed = await scene.start();
		await scene.backend.leases.fail(failed.id, { fence: failed.fence, reason: "broken", category: "net" });
		expect((await scene.events(failed.id)).at(-1)).toMatchObject({ type: "failed", reason: "broken", category: "net" });
		const expired = await scene.create({ policy: { timeouts: { queueMs: 10 } } });
		await scene.clock.advance(10);
		expect(await scene.eventTypes(expired)).toEqual(["created", "expired"]);
		const lost = await scene.start({ policy: { maxReclaims: 0 } }, { leaseMs: 100 });
		await scene.clock.advance(100);
		expect(await scene.eventTypes(lost.id)).toEqual(["created", "claimed", "lease_expired", "failed"]);
	});

	test(
		"events carry when, which attempt and who",
		async (scene) => {
			const { id, fence } = await scene.start({}, { instanceId: "machine-7" });
			await scene.clock.advance(250);
			await scene.backend.leases.complete(id, { fence });
			const start = scene.now - 250;
			expect(await scene.events(id)).toMatchObject([
				{ seq: 1, at: start, type: "created", actor: "api" },
				{ seq: 2, at: start, type: "claimed", actor: "machine-7", attempt: 0, epoch: 1, leaseId: fence.leaseId },
				{ seq: 3, at: scene.now, type: "completed", actor: "machine-7", attempt: 0, epoch: 1 },
			]);
		},
		{ actor: "api" },
	);

	test("what the engine does on its own carries the name of the duty", async (scene) => {
		const id = await scene.create({ delayMs: 10, policy: { timeouts: { queueMs: 10 } } });
		await scene.clock.advance(20);
		const events = await scene.events(id);
		expect(events.map(({ type, actor }) => [type, actor]).slice(1)).toEqual([
			["eligible", "delayed_promoter"],
			["expired", expect.stringMatching(/^[a-z_]+$/)],
		]);
	});

	test(
		"what operators do carries the name they act under",
		async (scene) => {
			const { id } = await scene.start();
			await scene.backend.executions.revokeLease(id, { reason: "stuck" });
			await scene.backend.executions.cancel(id, { reason: "enough" });
			await scene.backend.executions.replay(id);
			expect((await scene.events(id)).slice(2)).toMatchObject([
				{ type: "lease_revoked", actor: "ops", reason: "stuck", epoch: 1 },
				{ type: "cancelled", actor: "ops", reason: "enough" },
				{ type: "replayed", actor: "ops" },
			]);
		},
		{ actor: "ops" },
	);

	test("refused and repeated calls leave no event", async (scene) => {
		const { id, fence } = await scene.finished();
		const before = await scene.events(id);
		await scene.backend.leases.complete(id, { fence });
		await refusal(scene.backend.leases.fail(id, { fence, reason: "late" }));
		await refusal(scene.backend.executions.cancel(id));
		await scene.backend.executions.revokeLease(id);
		expect(await scene.events(id)).toEqual(before);
	});

	test("events are read page by page, and nothing is skipped or repeated", async (scene) => {
		const { id } = await scene.start();
		for (let n = 0; n < 10; n++) {
			await scene.backend.executions.revokeLease(id);
			await scene.take();
		}
		const whole = await scene.events(id);
		const pages: unknown[] = [];
		let cursor: string | undefined;
		for (;;) {
			const page = await scene.backend.executions.events(id, {
				limit: 3,
				...(cursor === undefined ? undefined : { cursor }),
			});
			if (page.events.length === 0) break;
			expect(page.events.length).toBeLessThanOrEqual(3);
			pages.push(...page.events);
			cursor = page.nextCursor;
		}
		expect(pages).toEqual(whole);
	});

	test("a cursor read again later gives what happened since", async (scene) => {
		const { id, fence } = await scene.start();
		const { events, nextCursor } = await scene.backend.executions.events(id);
		expect(events.map(({ type }) => type)).toEqual(["created", "claimed"]);
		expect(await scene.backend.executions.events(id, { cursor: nextCursor })).toEqual({ events: [], nextCursor });
		await scene.backend.leases.complete(id, { fence });
		const since = await scene.backend.executions.events(id, { cursor: nextCursor });
		expect(since.events.map(({ type }) => type)).toEqual(["completed"]);
	});

	test("events of one execution hold nothing of another", async (scene) => {
		const a = await scene.create({ lane: "a" });
		const b = await scene.create({ lane: "b" });
		await scene.backend.executions.cancel(a);
		expect(await scene.eventTypes(b)).toEqual(["created"]);
		expect((await scene.events(a)).every(({ executionId }) => executionId === a)).toBe(true);
	});

	test("a cursor that was never given is refused by name", async (scene) => {
		const id = await scene.create();
		await scene.create();
		const { nextCursor = "" } = await scene.backend.executions.list({ limit: 1 });
		for (const cursor of ["nonsense", nextCursor, "W10", "e30"]) {
			const error = await refusal(scene.backend.executions.events(id, { cursor }));
			expect(error).toMatchObject({ code: "invalid_input", details: { field: "cursor" } });
		}
	});

	test("attempts of work that never ran are none", async (scene) => {
		expect(await scene.backend.executions.attempts(await scene.create())).toEqual([]);
	});

	test("a running attempt shows its worker and start", async (scene) => {
		await scene.clock.advance(77);
		const { id } = await scene.start({}, { workerId: "w", instanceId: "w-1" });
		expect(await scene.backend.executions.attempts(id)).toEqual([
			{ index: 0, type: "initial", state: "started", workerId: "w", instanceId: "w-1", startedAt: scene.now },
		]);
		expect((await scene.get(id)).attempt).toEqual({ index: 0, type: "initial", state: "started" });
	});

	test("every attempt keeps its worker, times, outcome and failure", async (scene) => {
		const retry = { maxRetries: 1, backoff: { type: "fixed" as const, delayMs: 100 } };
		const { id, fence } = await scene.start({ policy: { retry } }, { workerId: "a", instanceId: "a-1" });
		const start = scene.now;
		await scene.clock.advance(10);
		await scene.backend.leases.fail(id, { fence, reason: "first", category: "net" });
		await scene.clock.advance(100);
		await scene.take({ workerId: "b", instanceId: "b-1", leaseMs: 1000 });
		await scene.clock.advance(1000);
		const last = await scene.take({ workerId: "c", instanceId: "c-1" });
		await scene.clock.advance(10);
		await scene.backend.leases.complete(id, { fence: last.fence, result: [1] });
		expect(await scene.backend.executions.attempts(id)).toEqual([
			{
				index: 0,
				type: "initial",
				state: "ended_failure",
				workerId: "a",
				instanceId: "a-1",
				startedAt: start,
				endedAt: start + 10,
				failure: { reason: "first", category: "net" },
			},
			{
				index: 1,
				type: "retry",
				state: "interrupted_reclaimed",
				workerId: "b",
				instanceId: "b-1",
				startedAt: start + 110,
				endedAt: start + 1110,
			},
			{
				index: 2,
				type: "reclaim",
				state: "ended_success",
				workerId: "c",
				instanceId: "c-1",
				startedAt: start + 1110,
				endedAt: start + 1120,
				result: { contentType: "application/json", size: 3 },
			},
		]);
	});
}
