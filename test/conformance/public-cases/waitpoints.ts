import { expect } from "vitest";
import type { CreateWaitpointRequest } from "../../../src/index.ts";
import { foreignFence, type Held, type PublicCase, refusal, type Scene, unknownId } from "../scene.ts";
import { namesOf, send, suspend, suspended, wait } from "../suspended-work.ts";

const open = (scene: Scene, { id, fence }: Held, key = "w", request: Partial<CreateWaitpointRequest> = {}) =>
	scene.backend.leases.createWaitpoint(id, { fence, key, ...request });

const listed = async (scene: Scene, id: string, all = false) =>
	(await scene.backend.waitpoints.list(id, { all })).waitpoints;

const statesOf = async (scene: Scene, id: string) =>
	(await listed(scene, id, true)).map(({ key, state }) => `${key} ${state}`);

/** Where signals arrive, before and while something waits there. */
export function waitpointCases(test: PublicCase): void {
	test("a waitpoint opened early is pending, with its token and its callback URL", async (scene) => {
		const held = await scene.start();
		const made = await open(scene, held, "w", { expiresMs: 60_000 });
		expect(made).toMatchObject({
			id: expect.stringMatching(/^wp_[0-9a-f]{32}_\d+$/),
			key: "w",
			token: expect.stringMatching(/^k1\.[\w-]{43}$/),
			callbackUrl: `/v1/callbacks/${made.id}?token=${made.token}`,
			created: true,
		});
		expect(await listed(scene, held.id)).toEqual([
			{
				id: made.id,
				key: "w",
				state: "pending",
				requiredSignalNames: [],
				kid: "k1",
				fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
				createdAt: scene.now,
				expiresAt: scene.now + 60_000,
			},
		]);
		expect((await scene.get(held.id)).publicState).toBe("active");
	});

	test("asked for again under its key it is the same one, with the same token", async (scene) => {
		const held = await scene.start();
		const made = await open(scene, held);
		await scene.clock.advance(100);
		expect(await open(scene, held, "w", { expiresMs: 5 })).toEqual({ ...made, created: false });
		expect(await listed(scene, held.id)).toHaveLength(1);
	});

	test("it is the same one after a crash, a reclaim, a hand-back, a delay and a retry", async (scene) => {
		const retry = { backoff: { type: "fixed", delayMs: 1 } } as const;
		const held = await scene.start({ policy: { retry } });
		const { created: _, ...made } = await open(scene, held);
		const isSame = async (again: Held) => expect(await open(scene, again)).toEqual({ ...made, created: false });
		await scene.clock.advance(31_000);
		const reclaimed = await scene.take();
		await isSame(reclaimed);
		await scene.backend.leases.release(held.id, { fence: reclaimed.fence });
		const released = await scene.take();
		await isSame(released);
		await scene.backend.leases.delay(held.id, { fence: released.fence, delayMs: 10 });
		await scene.clock.advance(10);
		const delayed = await scene.take();
		await isSame(delayed);
		await scene.backend.leases.fail(held.id, { fence: delayed.fence, reason: "x" });
		await scene.clock.advance(1);
		const retried = await scene.take();
		await isSame(retried);
		expect((await suspend(scene, retried)).waitpoints).toEqual([made]);
	});

	test("a suspension that names a pending waitpoint makes it active, by its key or by its id too", async (scene) => {
		const held = await scene.start();
		const { created: _, ...a } = await open(scene, held, "a");
		const { created: __, ...b } = await open(scene, held, "b");
		await scene.clock.advance(50);
		const work = await wait(scene, held, { waitpoints: [{ key: "b", id: b.id }, { key: "a" }, { key: "c" }] });
		expect(work.reply.waitpoints.slice(0, 2)).toEqual([b, a]);
		expect(await listed(scene, held.id)).toMatchObject([
			{ key: "a", state: "active", activatedAt: scene.now, createdAt: scene.now - 50 },
			{ key: "b", state: "active", requiredSignalNames: ["go"] },
			{ key: "c", state: "active" },
		]);
		expect((await work.send()).effect).toBe("resumed");
	});

	test("it closes when its suspension is satisfied; then its key gives a new one", async (scene) => {
		const work = await suspended(scene);
		await work.send();
		expect(await listed(scene, work.id)).toEqual([]);
		expect(await statesOf(scene, work.id)).toEqual(["w closed"]);
		const next = await wait(scene, await scene.take());
		expect(next.at().id).not.toBe(work.at().id);
		expect(next.at().token).not.toBe(work.at().token);
		expect(await statesOf(scene, work.id)).toEqual(["w closed", "w active"]);
	});

	test("it closes when its suspension is resumed by hand", async (scene) => {
		const work = await suspended(scene);
		await scene.backend.waitpoints.resume(work.id);
		expect(await statesOf(scene, work.id)).toEqual(["w closed"]);
	});

	test("it closes when its suspension times out, but not when that is passed on to an operator", async (scene) => {
		const resumed = await suspended(scene, { timeoutMs: 10, timeoutBehavior: "resume" });
		const escalated = await suspended(scene, { timeoutMs: 10, timeoutBehavior: "escalate" });
		await scene.clock.advance(10);
		expect(await statesOf(scene, resumed.id)).toEqual(["w closed"]);
		expect(await statesOf(scene, escalated.id)).toEqual(["w active"]);
		expect((await escalated.send()).effect).toBe("resumed");
	});

	test("a suspension closes only waitpoints that it names", async (scene) => {
		const held = await scene.start();
		const early = await open(scene, held, "other");
		const work = await wait(scene, held);
		await work.send();
		expect(await statesOf(scene, held.id)).toEqual(["other pending", "w closed"]);
		expect((await send(scene, held.id, early)).effect).toBe("buffered");
	});

	test("all of them close when the execution ends", async (scene) => {
		const held = await scene.start();
		const early = await open(scene, held, "early");
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		expect(await listed(scene, held.id)).toEqual([]);
		expect(await statesOf(scene, held.id)).toEqual(["early closed"]);
		expect(await refusal(send(scene, held.id, early))).toMatchObject({ code: "waitpoint_closed", status: 409 });
	});

	test("a pending one closes when it expires; then its key gives a new one", async (scene) => {
		const held = await scene.start({}, { leaseMs: 600_000 });
		const first = await open(scene, held, "w", { expiresMs: 1000 });
		await scene.clock.advance(999);
		expect(await statesOf(scene, held.id)).toEqual(["w pending"]);
		await scene.clock.advance(1);
		expect(await statesOf(scene, held.id)).toEqual(["w closed"]);
		const second = await open(scene, held);
		expect(second).toMatchObject({ created: true });
		expect(second.id).not.toBe(first.id);
	});

	test("one that something waits at does not expire", async (scene) => {
		const held = await scene.start({}, { leaseMs: 600_000 });
		const { token } = await open(scene, held, "w", { expiresMs: 1000 });
		const work = await wait(scene, held);
		expect(work.at().token).toBe(token);
		await scene.clock.advance(60_000);
		expect(await statesOf(scene, held.id)).toEqual(["w active"]);
		expect((await work.send()).effect).toBe("resumed");
	});

	test("signals that come early are kept, and replayed when it is waited for them", async (scene) => {
		const held = await scene.start();
		const early = await open(scene, held);
		expect(await send(scene, held.id, early, "a", { payload: 1 })).toMatchObject({
			status: "accepted",
			effect: "buffered",
		});
		await send(scene, held.id, early, "x");
		const work = await wait(scene, held, { condition: { allOf: [{ signal: "a" }, { signal: "b" }] } });
		expect((await work.send("b", { payload: 2 })).effect).toBe("resumed");
		expect((await scene.take()).signals).toMatchObject([
			{ name: "a", payload: 1 },
			{ name: "b", payload: 2 },
		]);
	});

	test("when the condition holds already the worker keeps its lease and is given the signals", async (scene) => {
		const held = await scene.start();
		const early = await open(scene, held);
		await send(scene, held.id, early, "go", { payload: { ok: 1 } });
		const reply = await suspend(scene, held);
		expect(reply).toMatchObject({ status: "already_satisfied", signals: [{ name: "go", payload: { ok: 1 } }] });
		expect(reply.waitpoints).toMatchObject([{ id: early.id, key: "w" }]);
		expect(await scene.get(held.id)).toMatchObject({ publicState: "active", lease: { id: held.lease.id } });
		expect(await statesOf(scene, held.id)).toEqual(["w closed"]);
		expect(await scene.eventTypes(held.id)).toEqual(["created", "claimed", "signalled"]);
		// Said again, as after a lost answer, it is the first answer.
		expect(await suspend(scene, held)).toEqual(reply);
		expect((await listed(scene, held.id, true)).length).toBe(1);
		expect(await scene.backend.leases.complete(held.id, { fence: held.fence })).toEqual({ publicState: "completed" });
	});

	test("what held already is carried by the claims that follow", async (scene) => {
		const held = await scene.start();
		await send(scene, held.id, await open(scene, held));
		await suspend(scene, held);
		await scene.backend.leases.release(held.id, { fence: held.fence });
		expect(namesOf((await scene.take()).signals)).toEqual(["go"]);
	});

	test("a suspend that held at once gets its first answer when it comes again, also behind another", async (scene) => {
		const held = await scene.start();
		for (const key of ["a", "b"]) await send(scene, held.id, await open(scene, held, key));
		const [a, b, c] = ["a", "b", "c"].map((key) => ({ waitpoints: [{ key }] }));
		const first = await suspend(scene, held, a);
		expect(await suspend(scene, held, b)).toMatchObject({ status: "already_satisfied", signals: [{ waitpoint: "b" }] });
		expect(await suspend(scene, held, a)).toEqual(first);
		expect(await suspend(scene, held, c)).toMatchObject({ status: "suspended" });
		expect(await suspend(scene, held, a)).toEqual(first);
		expect((await scene.get(held.id)).publicState).toBe("suspended");
	});

	test("early signals are kept over a crash", async (scene) => {
		const held = await scene.start();
		await send(scene, held.id, await open(scene, held));
		await scene.clock.advance(31_000);
		expect(await suspend(scene, await scene.take())).toMatchObject({
			status: "already_satisfied",
			signals: [{ name: "go" }],
		});
	});

	test("early signals of several waitpoints count in the order in which they came", async (scene) => {
		const held = await scene.start();
		const a = await open(scene, held, "a");
		const b = await open(scene, held, "b");
		for (const [at, name] of [
			[b, "1"],
			[a, "2"],
			[b, "3"],
		] as const)
			await send(scene, held.id, at, name);
		const reply = await suspend(scene, held, {
			condition: { count: { n: 2, distinctBy: "signal" } },
			waitpoints: [{ key: "a" }, { key: "b" }],
		});
		expect(namesOf(reply.signals)).toEqual(["1", "2"]);
	});

	test("hundreds of early signals are gone through in pages, and the last of them ends the wait", async (scene) => {
		const held = await scene.start({}, { leaseMs: 600_000 });
		const early = await open(scene, held);
		for (let n = 0; n < 25; n++)
			await Promise.all(Array.from({ length: 10 }, (_, m) => send(scene, held.id, early, `noise-${n}-${m}`)));
		await send(scene, held.id, early, "go", { payload: "last" });
		const work = await wait(scene, held);
		expect(work.reply.status).toBe("suspended");
		await scene.clock.advance(100);
		expect((await scene.take()).signals).toMatchObject([{ name: "go", payload: "last" }]);
		expect((await scene.events(held.id)).at(-2)).toMatchObject({ type: "resumed", actor: "suspension_replay" });
	});

	test("hundreds of early signals that end nothing leave it waiting, and its timeout holds", async (scene) => {
		const held = await scene.start({}, { leaseMs: 600_000 });
		const early = await open(scene, held);
		for (let n = 0; n < 15; n++)
			await Promise.all(Array.from({ length: 10 }, (_, m) => send(scene, held.id, early, `noise-${n}-${m}`)));
		const work = await wait(scene, held, { timeoutMs: 5000, timeoutBehavior: "resume" });
		await scene.clock.advance(4999);
		expect((await scene.get(held.id)).publicState).toBe("suspended");
		await scene.clock.advance(1);
		expect(namesOf((await scene.take()).signals)).toEqual(["timeout"]);
		expect(await refusal(work.send())).toMatchObject({ code: "waitpoint_closed" });
	});

	test("only the holder opens waitpoints", async (scene) => {
		const held = await scene.start();
		expect(await refusal(scene.backend.leases.createWaitpoint(held.id, { key: "w" }))).toMatchObject({
			code: "fence_required",
		});
		expect(await refusal(open(scene, { ...held, fence: foreignFence }))).toMatchObject({ code: "stale_lease" });
		expect(await refusal(open(scene, { ...held, id: unknownId }))).toMatchObject({ code: "execution_not_found" });
		expect(await refusal(open(scene, held, ""))).toMatchObject({ code: "invalid_input", details: { field: "key" } });
		expect(await refusal(open(scene, held, "x".repeat(257)))).toMatchObject({ code: "invalid_input" });
		expect(await refusal(open(scene, held, "w", { expiresMs: 0 }))).toMatchObject({ details: { field: "expiresMs" } });
		expect(await listed(scene, held.id, true)).toEqual([]);
	});

	test("keys may hold anything", async (scene) => {
		const held = await scene.start();
		const keys = ["a/b", "ü ☃", "w.1", "0", "__proto__", "\ud800", "\u0000", "x".repeat(256)];
		for (const key of keys) await open(scene, held, key);
		expect((await listed(scene, held.id)).map(({ key }) => key)).toEqual(keys);
		expect((await open(scene, held, "a/b")).created).toBe(false);
	});

	test("the list of waitpoints is read in pages, in the order they were made", async (scene) => {
		const held = await scene.start();
		for (let n = 0; n < 5; n++) await open(scene, held, `w-${n}`);
		const keys: string[] = [];
		let cursor: string | undefined;
		do {
			const page = await scene.backend.waitpoints.list(held.id, { limit: 2, ...(cursor ? { cursor } : undefined) });
			keys.push(...page.waitpoints.map(({ key }) => key));
			cursor = page.nextCursor;
		} while (cursor);
		expect(keys).toEqual(["w-0", "w-1", "w-2", "w-3", "w-4"]);
		expect(await refusal(scene.backend.waitpoints.list(held.id, { cursor: "nonsense" }))).toMatchObject({
			code: "invalid_input",
			details: { field: "cursor" },
		});
		expect(await refusal(scene.backend.waitpoints.list(unknownId))).toMatchObject({ code: "execution_not_found" });
	});

	test("the token is given again on request, the same one, and no list shows it", async (scene) => {
		const work = await suspended(scene);
		const { token, callbackUrl, id } = work.at();
		expect(await scene.backend.waitpoints.token(work.id, id)).toEqual({ id, key: "w", token, kid: "k1", callbackUrl });
		const shown = JSON.stringify([
			await scene.get(work.id),
			await scene.events(work.id),
			await listed(scene, work.id, true),
			await scene.backend.waitpoints.inbox(),
			await scene.backend.executions.explain(work.id),
			await scene.backend.executions.attempts(work.id),
		]);
		expect(shown).not.toContain(token.slice(3));
	});

	test("there is no token of a waitpoint that another execution has", async (scene) => {
		const mine = await suspended(scene);
		const other = await suspended(scene);
		const { waitpoints } = scene.backend;
		expect(await refusal(waitpoints.token(mine.id, other.at().id))).toMatchObject({
			code: "waitpoint_not_found",
			status: 404,
		});
		expect(await refusal(waitpoints.token(mine.id, `wp_${"0".repeat(32)}_0`))).toMatchObject({
			code: "waitpoint_not_found",
		});
		expect(await refusal(waitpoints.token(mine.id, "wp_x"))).toMatchObject({ code: "invalid_input" });
		expect(await refusal(waitpoints.token(unknownId, mine.at().id))).toMatchObject({ code: "execution_not_found" });
	});
}
