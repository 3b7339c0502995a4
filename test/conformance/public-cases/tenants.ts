import { expect } from "vitest";
import type { Calls, WorkerNotice } from "../../../src/index.ts";
import { type FenceLike, type PublicCase, refusal, unknownId } from "../scene.ts";

const worker = { workerId: "w", instanceId: "w-1" };

/** Every call about one execution. */
const callsById: Record<string, (calls: Calls, id: string, fence: FenceLike) => Promise<unknown>> = {
	get: ({ executions }, id) => executions.get(id),
	input: ({ executions }, id) => executions.input(id),
	result: ({ executions }, id) => executions.result(id),
	wait: ({ executions }, id) => executions.wait(id),
	events: ({ executions }, id) => executions.events(id, { waitMs: 1000 }),
	attempts: ({ executions }, id) => executions.attempts(id),
	cancel: ({ executions }, id) => executions.cancel(id, { mode: "force" }),
	"cancel by its holder": ({ executions }, id, fence) => executions.cancel(id, { fence }),
	replay: ({ executions }, id) => executions.replay(id),
	delete: ({ executions }, id) => executions.delete(id),
	changePriority: ({ executions }, id) => executions.changePriority(id, { priority: 9 }),
	setTags: ({ executions }, id) => executions.setTags(id, { set: { mine: "now" } }),
	revokeLease: ({ executions }, id) => executions.revokeLease(id),
	complete: ({ leases }, id, fence) => leases.complete(id, { fence, result: "stolen" }),
	"complete without a fence": ({ leases }, id) => leases.complete(id, {}),
	fail: ({ leases }, id, fence) => leases.fail(id, { fence, reason: "x" }),
	delay: ({ leases }, id, fence) => leases.delay(id, { fence, delayMs: 1 }),
	release: ({ leases }, id, fence) => leases.release(id, { fence }),
	progress: ({ leases }, id, fence) => leases.progress(id, { fence, percent: 1 }),
	suspend: ({ leases }, id, fence) =>
		leases.suspend(id, { fence, reason: "manual_pause", condition: { operatorOnly: true } }),
	createWaitpoint: ({ leases }, id, fence) => leases.createWaitpoint(id, { fence, key: "mine" }),
	waitpoints: ({ waitpoints }, id) => waitpoints.list(id, { all: true }),
	signals: ({ waitpoints }, id) => waitpoints.signals(id),
	token: ({ waitpoints }, id) => waitpoints.token(id, `wp_${"0".repeat(32)}_0`),
	approve: ({ waitpoints }, id) => waitpoints.approve(id, { name: "go" }),
	resume: ({ waitpoints }, id) => waitpoints.resume(id),
};

/** Callers bound to a namespace: nothing crosses it. */
export function tenantCases(test: PublicCase): void {
	test("a bound caller works in its own namespace without naming it", async (scene) => {
		const a = scene.as({ actor: "ada", namespace: "a" });
		const { id } = await a.executions.create({ kind: "job", input: "mine" });
		expect(await a.executions.get(id)).toMatchObject({ namespace: "a", createdBy: "ada" });
		expect((await a.executions.list()).executions.map((each) => each.id)).toEqual([id]);
		const [claimed] = await a.leases.claim(worker);
		expect(claimed).toMatchObject({ id, namespace: "a", input: "mine" });
		const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
		expect(await a.leases.renew({ leases: [{ executionId: id, ...fence }] })).toMatchObject([{ ok: true }]);
		await a.leases.complete(id, { fence, result: 1 });
		await a.executions.setTags(id, { set: { done: "yes" } });
		await a.executions.replay(id);
		await a.executions.changePriority(id, { priority: 3 });
		await a.executions.cancel(id);
		expect((await a.executions.events(id)).events.at(-1)).toMatchObject({ type: "cancelled", actor: "ada" });
		expect(await a.executions.delete(id)).toEqual({ deleted: true });
	});

	test("a bound caller may name its own namespace", async (scene) => {
		const a = scene.as({ actor: "ada", namespace: "a" });
		const { id } = await a.executions.create({ kind: "job", namespace: "a" });
		expect((await a.executions.list({ namespace: "a" })).executions.map((each) => each.id)).toEqual([id]);
		expect(await a.leases.claim({ ...worker, namespace: "a" })).toHaveLength(1);
	});

	test("a bound caller that names another namespace is refused as forbidden, and nothing happens there", async (scene) => {
		const theirs = await scene.create({ namespace: "b", lane: "l" });
		const a = scene.as({ actor: "ada", namespace: "a" });
		const calls = [
			() => a.executions.create({ kind: "job", namespace: "b" }),
			() => a.executions.create({ kind: "job", namespace: "default" }),
			() => a.executions.list({ namespace: "b" }),
			() => a.executions.bulk({ filter: { namespace: "b", lane: "l" }, action: "cancel" }),
			() => a.leases.claim({ ...worker, namespace: "b", lanes: ["l"] }),
		];
		for (const call of calls) {
			const error = await refusal(call());
			expect(error).toMatchObject({
				code: "forbidden",
				status: 403,
				retryable: false,
				details: { field: "namespace" },
			});
		}
		expect(await scene.listed("b")).toEqual([theirs]);
		expect(await scene.listed()).toEqual([]);
		expect(await scene.eventTypes(theirs)).toEqual(["created"]);
	});

	test("in a batch only the items that name another namespace are forbidden", async (scene) => {
		const a = scene.as({ actor: "ada", namespace: "a" });
		const items = await a.executions.createMany([
			{ kind: "job" },
			{ kind: "job", namespace: "b" },
			{ kind: "job", namespace: "a" },
		]);
		expect(items).toMatchObject([{ ok: true }, { ok: false, error: { code: "forbidden" } }, { ok: true }]);
		expect(await scene.listed("a")).toHaveLength(2);
		expect(await scene.listed("b")).toEqual([]);
	});

	test("work of another namespace does not exist for any call, whatever fence it shows", async (scene) => {
		const a = scene.as({ actor: "ada", namespace: "a" });
		const running = await scene.start({ namespace: "b", input: "secret", tags: { t: "1" } });
		const ended = await scene.finished({ namespace: "b" });
		const waiting = await scene.create({ namespace: "b" });
		for (const { id, fence } of [running, ended, { id: waiting, fence: running.fence }]) {
			const before = [await scene.get(id), await scene.events(id)];
			for (const [name, call] of Object.entries(callsById)) {
				const told = async (about: string) => {
					const { code, status, message, details } = await refusal(call(a, about, fence));
					return { name, code, status, message, details: { ...details, executionId: "…" } };
				};
				const error = await told(id);
				expect(error).toMatchObject({ code: "execution_not_found", status: 404 });
				expect(error).toEqual(await told(unknownId));
			}
			expect([await scene.get(id), await scene.events(id)]).toEqual(before);
		}
	});

	test("renewing and completing many touches only what is the caller's own", async (scene) => {
		const a = scene.as({ actor: "ada", namespace: "a" });
		const mine = await scene.start({ namespace: "a" });
		const theirs = await scene.start({ namespace: "b" });
		const leases = [theirs, mine].map(({ id, fence }) => ({ executionId: id, ...fence }));
		expect(await a.leases.renew({ leases })).toMatchObject([
			{ executionId: theirs.id, ok: false, error: { code: "execution_not_found" } },
			{ executionId: mine.id, ok: true },
		]);
		const items = [theirs, mine].map(({ id, fence }) => ({ executionId: id, fence }));
		expect(await a.leases.completeMany(items)).toMatchObject([
			{ executionId: theirs.id, ok: false, error: { code: "execution_not_found" } },
			{ executionId: mine.id, ok: true, publicState: "completed" },
		]);
		expect((await scene.get(theirs.id)).publicState).toBe("active");
	});

	test("lists, claims and bulk actions of bound callers hold their own work only", async (scene) => {
		const [a, b] = [scene.as({ actor: "ada", namespace: "a" }), scene.as({ actor: "bob", namespace: "b" })];
		const mine = await scene.create({ namespace: "a", lane: "l" });
		const theirs = [await scene.create({ namespace: "b", lane: "l" }), await scene.create({ lane: "l" })];
		expect((await a.executions.list({ lane: "l" })).executions.map(({ id }) => id)).toEqual([mine]);
		expect(await a.executions.bulk({ filter: { lane: "l" }, action: "cancel" })).toMatchObject({ done: 1 });
		for (const id of theirs) expect(await scene.eventTypes(id)).toEqual(["created"]);
		expect(await a.leases.claim({ ...worker, lanes: ["l"], max: 9 })).toEqual([]);
		expect((await b.leases.claim({ ...worker, lanes: ["l"], max: 9 })).map(({ id }) => id)).toEqual([theirs[0]]);
	});

	test("a cursor of another namespace's list is refused like one that nobody was given", async (scene) => {
		for (let n = 0; n < 4; n++) {
			await scene.create({ namespace: "b" });
			await scene.clock.advance(1);
		}
		const { nextCursor = "" } = await scene.backend.executions.list({ namespace: "b", limit: 2 });
		const a = scene.as({ actor: "ada", namespace: "a" });
		const foreign = await refusal(a.executions.list({ cursor: nextCursor }));
		expect(foreign).toMatchObject({ code: "invalid_input", details: { field: "cursor" } });
		expect(await refusal(a.executions.list({ cursor: "nonsense" }))).toMatchObject({ message: foreign.message });
	});

	test("an idempotency key of one tenant means nothing to another", async (scene) => {
		const [a, b] = [scene.as({ actor: "ada", namespace: "a" }), scene.as({ actor: "bob", namespace: "b" })];
		const first = await a.executions.create({ kind: "job", idempotencyKey: "k", input: 1 });
		const second = await b.executions.create({ kind: "job", idempotencyKey: "k", input: 2 });
		expect(second).toMatchObject({ created: true });
		expect(second.id).not.toBe(first.id);
		expect(await a.executions.create({ kind: "job", idempotencyKey: "k", input: 1 })).toMatchObject({
			id: first.id,
			created: false,
		});
	});

	test("a bound caller hears nothing of another namespace's instance of the same name", async (scene) => {
		const heard = (actor: string, namespace: string): WorkerNotice[] => {
			const notices: WorkerNotice[] = [];
			scene.as({ actor, namespace }).leases.notices("instance-1", (notice) => notices.push(notice));
			return notices;
		};
		const [a, b] = [heard("ada", "a"), heard("bob", "b")];
		const { id, fence } = await scene.start({ namespace: "b" });
		await scene.backend.executions.cancel(id, { reason: "secret" });
		await scene.backend.executions.revokeLease(id);
		await scene.clock.settle();
		expect(a).toEqual([]);
		expect(b).toMatchObject([
			{ type: "cancel_requested", executionId: id, ...fence },
			{ type: "lease_lost", executionId: id, ...fence },
		]);
	});

	test("a caller that is not bound sees and does everything", async (scene) => {
		const [a, root] = [scene.as({ actor: "ada", namespace: "a" }), scene.as({ actor: "root" })];
		const { id } = await a.executions.create({ kind: "job" });
		expect(await root.executions.get(id)).toEqual(await scene.get(id));
		expect((await root.executions.list({ namespace: "a" })).executions.map((each) => each.id)).toEqual([id]);
		await root.executions.cancel(id);
		expect((await a.executions.events(id)).events.at(-1)).toMatchObject({ type: "cancelled", actor: "root" });
	});
}
