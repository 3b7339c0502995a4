import { expect } from "vitest";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const lane = async (scene: Scene, name = "default", namespace = "default") =>
	(await scene.ff.lanes({ namespace })).lanes.find((each) => each.lane === name);

/** Work in every partition. */
const many = (scene: Scene, count = 40, request: object = {}) =>
	scene.backend.executions.createMany(Array.from({ length: count }, () => ({ kind: "job", ...request })));

export function laneStateCases(test: PublicCase): void {
	test("a paused lane hands out nothing, wherever its work is", async (scene) => {
		await many(scene);
		expect(await scene.backend.lanes.pause("default")).toEqual({
			lane: "default",
			namespace: "default",
			state: "paused",
			agingMs: 1e12,
		});
		for (let n = 0; n < 10; n++) expect(await scene.claim({ instanceId: `i${n}`, max: 256 })).toEqual([]);
		await many(scene);
		expect(await scene.claim({ max: 256 })).toEqual([]);
	});

	test("a resumed lane goes on where it stood", async (scene) => {
		const first = await scene.create();
		await scene.clock.advance(1);
		const second = await scene.create();
		await scene.backend.lanes.pause("default");
		expect(await scene.claim()).toEqual([]);
		expect(await scene.backend.lanes.resume("default")).toMatchObject({ state: "active" });
		expect([(await scene.take()).id, (await scene.take()).id]).toEqual([first, second]);
	});

	test("pausing a lane leaves the others alone, and those of other tenants", async (scene) => {
		await scene.create({ lane: "a" });
		const b = await scene.create({ lane: "b" });
		const other = await scene.create({ lane: "a", namespace: "n" });
		await scene.backend.lanes.pause("a");
		expect((await scene.take({ lanes: ["a", "b"] })).id).toBe(b);
		expect((await scene.take({ lanes: ["a"], namespace: "n" })).id).toBe(other);
	});

	test("waiting work in a paused lane is shown as blocked by it, on every read", async (scene) => {
		const id = await scene.create({ lane: "media" });
		const delayed = await scene.create({ lane: "media", delayMs: 1000 });
		await scene.clock.advance(5);
		await scene.backend.lanes.pause("media");
		const shown = {
			publicState: "waiting",
			state: {
				lifecyclePhase: "runnable",
				ownershipState: "unowned",
				eligibilityState: "blocked_by_lane_state",
				blockingReason: "paused_by_policy",
				terminalOutcome: "none",
				attemptState: "pending_first_attempt",
			},
			blockingDetail: "lane media is paused",
			blockedAt: scene.now,
		};
		expect(await scene.get(id)).toMatchObject(shown);
		const { executions } = await scene.backend.executions.list({ lane: "media", state: "waiting" });
		expect(executions).toMatchObject([{ id, ...shown }]);
		expect(await scene.backend.executions.wait(id, { timeoutMs: 0 })).toMatchObject(shown);
		expect((await scene.state(delayed)).eligibilityState).toBe("not_eligible_until_time");
		await scene.backend.lanes.resume("media");
		expect(await scene.get(id)).toMatchObject({
			state: { eligibilityState: "eligible_now", blockingReason: "waiting_for_worker" },
			blockingDetail: "no live worker takes kind job on lane media",
		});
		expect((await scene.get(id)).blockedAt).toBeUndefined();
		expect(await scene.eventTypes(id)).toEqual(["created"]);
	});

	test("work that runs goes on in a paused lane, and waits when it comes back", async (scene) => {
		const held = await scene.start();
		const other = await scene.start();
		await scene.backend.lanes.pause("default");
		expect((await scene.state(held.id)).publicState).toBe("active");
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.backend.leases.release(other.id, { fence: other.fence });
		expect(await scene.claim()).toEqual([]);
		expect((await scene.get(other.id)).blockingDetail).toBe("lane default is paused");
	});

	test("resuming wakes a claim that waits", async (scene) => {
		await scene.backend.lanes.pause("default");
		const ids = (await many(scene, 3)).map(({ id }) => id);
		const waiting = scene.claim({ max: 3, waitMs: 30_000 });
		await scene.clock.settle();
		await scene.clock.advance(1000);
		const before = scene.now;
		await scene.backend.lanes.resume("default");
		const got = (await waiting).map(({ id }) => id);
		expect(scene.now).toBe(before);
		expect(got.length).toBeGreaterThan(0);
		expect(ids).toEqual(expect.arrayContaining(got));
	});

	test("a waiting claim sleeps on when work comes into its paused lane", async (scene) => {
		await scene.backend.lanes.pause("default");
		const waiting = scene.claim({ waitMs: 10_000 });
		await scene.clock.settle();
		await many(scene, 20);
		await scene.clock.advance(10_000);
		expect(await waiting).toEqual([]);
	});

	test("a draining lane refuses submits and hands out what it has", async (scene) => {
		const id = await scene.create({ lane: "old" });
		expect(await scene.backend.lanes.drain("old")).toMatchObject({ lane: "old", state: "draining" });
		expect(await refusal(scene.create({ lane: "old" }))).toMatchObject({
			code: "lane_draining",
			status: 409,
			retryable: false,
			details: { lane: "old" },
		});
		const items = await scene.backend.executions.createMany([
			{ kind: "job", lane: "old" },
			{ kind: "job", lane: "new" },
		]);
		expect(items.map(({ ok, error }) => [ok, error?.code])).toEqual([
			[false, "lane_draining"],
			[true, undefined],
		]);
		expect((await scene.take({ lanes: ["old"] })).id).toBe(id);
	});

	test("a draining lane refuses in every partition, keyed or not", async (scene) => {
		await scene.backend.lanes.drain("default");
		for (let n = 0; n < 30; n++) {
			expect(await refusal(scene.create({ idempotencyKey: `k${n}` }))).toMatchObject({ code: "lane_draining" });
		}
		expect((await many(scene)).every(({ error }) => error?.code === "lane_draining")).toBe(true);
	});

	test("a repeated key is answered in a draining lane too", async (scene) => {
		const id = await scene.create({ idempotencyKey: "k" });
		await scene.backend.lanes.drain("default");
		expect(await scene.backend.executions.create({ kind: "job", idempotencyKey: "k" })).toMatchObject({
			id,
			created: false,
		});
	});

	test("a lane that was draining takes work again once resumed", async (scene) => {
		await scene.backend.lanes.drain("default");
		await scene.backend.lanes.resume("default");
		await scene.create();
	});

	test("saying the same twice changes nothing", async (scene) => {
		for (const how of ["pause", "pause", "drain", "drain", "resume", "resume"] as const) {
			const { state } = await scene.backend.lanes[how]("default");
			expect(state).toBe({ pause: "paused", drain: "draining", resume: "active" }[how]);
		}
	});

	test("lanes that were changed are listed although nothing is in them", async (scene) => {
		await scene.backend.lanes.pause("idle lane");
		await scene.backend.lanes.update("other", { agingMs: 5 });
		expect(await scene.ff.lanes()).toEqual({
			lanes: [
				{ lane: "idle lane", state: "paused", agingMs: 1e12, depth: {}, perMinute: 0 },
				{ lane: "other", state: "active", agingMs: 5, depth: {}, perMinute: 0 },
			],
		});
		await scene.backend.lanes.resume("idle lane");
		expect((await scene.ff.lanes()).lanes.map((each) => each.lane)).toEqual(["other"]);
		expect(await scene.ff.lanes({ namespace: "n" })).toEqual({ lanes: [] });
	});

	test("a lane's state is listed with its depths", async (scene) => {
		await many(scene, 20, { lane: "a" });
		await scene.backend.lanes.pause("a");
		expect(await lane(scene, "a")).toMatchObject({ state: "paused", depth: { waiting: 20 } });
	});

	test("agingMs says how much waiting a step of priority is worth, for work submitted since", async (scene) => {
		await scene.backend.lanes.update("default", { agingMs: 100 });
		const old = await scene.create();
		await scene.clock.advance(250);
		const two = await scene.create({ priority: 2 });
		const three = await scene.create({ priority: 3 });
		const order = [await scene.take(), await scene.take(), await scene.take()].map(({ id }) => id);
		expect(order).toEqual([three, old, two]);
	});

	test("agingMs of 0 lets age alone count, and 1e12 is strict priority", async (scene) => {
		await scene.backend.lanes.update("default", { agingMs: 0 });
		const first = await scene.create();
		await scene.clock.advance(1);
		const second = await scene.create({ priority: 9000 });
		expect([(await scene.take()).id, (await scene.take()).id]).toEqual([first, second]);
		await scene.backend.lanes.update("default", { agingMs: 1e12 });
		await scene.create();
		await scene.clock.advance(1);
		const urgent = await scene.create({ priority: 1 });
		expect((await scene.take()).id).toBe(urgent);
	});

	test("changing settings keeps a lane's state, and its state keeps the settings", async (scene) => {
		await scene.backend.lanes.pause("default");
		expect(await scene.backend.lanes.update("default", { agingMs: 7 })).toMatchObject({ state: "paused", agingMs: 7 });
		expect(await scene.backend.lanes.resume("default")).toMatchObject({ state: "active", agingMs: 7 });
	});

	test("what is not a lane, or not a setting, is refused by name", async (scene) => {
		const { lanes } = scene.backend;
		for (const name of ["", "a,b", "é", "x".repeat(65), "a\nb"]) {
			expect(await refusal(lanes.pause(name))).toMatchObject({ code: "invalid_input", details: { field: "lane" } });
		}
		for (const agingMs of [-1, 1.5, 1e12 + 1, "5", null]) {
			expect(await refusal(lanes.update("a", { agingMs } as never))).toMatchObject({
				code: "invalid_input",
				details: { field: "agingMs" },
			});
		}
		expect(await refusal(lanes.update("a", {} as never))).toMatchObject({ details: { field: "agingMs" } });
		expect(await refusal(lanes.update("a", { agingMs: 1, color: 1 } as never))).toMatchObject({
			details: { field: "color" },
		});
		expect(await refusal(lanes.drain("a", { namespace: "no good" }))).toMatchObject({
			details: { field: "namespace" },
		});
		expect(await scene.ff.lanes()).toEqual({ lanes: [] });
	});

	test("odd names of lanes are names like any other", async (scene) => {
		for (const name of ["a b", "a/b", "?x=1&y", "%2F", "a:b", "#", "..."]) {
			const id = await scene.create({ lane: name });
			await scene.backend.lanes.pause(name);
			expect(await scene.claim({ lanes: [name] })).toEqual([]);
			await scene.backend.lanes.resume(name);
			expect((await scene.take({ lanes: [name] })).id).toBe(id);
		}
	});

	test("a token bound to a namespace changes its own lanes only", async (scene) => {
		const ada = scene.as({ actor: "ada", namespace: "a" });
		expect(await ada.lanes.pause("default")).toMatchObject({ namespace: "a", state: "paused" });
		expect(await refusal(ada.lanes.pause("default", { namespace: "b" }))).toMatchObject({ code: "forbidden" });
		await scene.create();
		await scene.take();
	});

	test("a pause outlives many changes to other lanes", async (scene) => {
		await scene.create({ lane: "p" });
		await scene.backend.lanes.pause("p");
		for (let n = 0; n < 20; n++) await scene.backend.lanes[n % 2 ? "resume" : "pause"](`l${n % 3}`);
		expect(await scene.claim({ lanes: ["p"] })).toEqual([]);
	});
}
