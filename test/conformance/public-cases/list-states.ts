import { expect } from "vitest";
import type { Execution, ListRequest, StateName } from "../../../src/index.ts";
import { BLOCKING_REASONS } from "../../../src/kernel/state.ts";
import { STATE_NAMES } from "../../../src/kernel/state-filter.ts";
import { drawn } from "../flow-work.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";
import { suspended } from "../suspended-work.ts";

/** Lists by several states, by groups of them, and by the reason why work does not run. */
export function listStateCases(test: PublicCase): void {
	test("several states are one list, newest first, whatever the lane", async (scene) => {
		const { waiting, delayed, failed, active, cancelled } = await oneOfEach(scene);
		expect(await all(scene, { state: ["waiting", "delayed"] })).toEqual([delayed, waiting]);
		expect(await all(scene, { state: ["failed", "active", "failed"] })).toEqual([failed, active]);
		expect(await all(scene, { state: ["cancelled"] })).toEqual([cancelled]);
		// As a query says it.
		expect(await all(scene, { state: "delayed,waiting" as StateName })).toEqual([delayed, waiting]);
	});

	test("open is what has not ended, ended is the rest, and groups stand beside states", async (scene) => {
		const { waiting, delayed, failed, active, cancelled } = await oneOfEach(scene);
		expect(await all(scene, { state: "open" })).toEqual([delayed, waiting, active]);
		expect(await all(scene, { state: "ended" })).toEqual([cancelled, failed]);
		expect(await all(scene, { state: ["ended", "active"] })).toEqual([cancelled, failed, active]);
		expect(await all(scene, { state: ["open", "ended"] })).toEqual(await scene.listed());
	});

	test("pages of several states follow one another while work moves between them", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 24; n++) {
			ids.unshift(await scene.create({ lane: `lane-${n % 3}`, ...(n % 2 ? { delayMs: 1000 } : undefined) }));
			await scene.clock.advance(1);
		}
		for (const limit of [1, 5, 24, 25]) expect(await all(scene, { state: "open", limit })).toEqual(ids);
		const inLane = ids.filter((_, n) => (ids.length - 1 - n) % 3 === 1);
		expect(await all(scene, { lane: "lane-1", state: ["waiting", "delayed"], limit: 3 })).toEqual(inLane);
		const first = await scene.ff.list({ state: "open", limit: 6 });
		expect(first.executions.map(({ id }) => id)).toEqual(ids.slice(0, 6));
		await scene.create();
		// What was delayed waits now, and some of what waited runs.
		await scene.clock.advance(1000);
		await scene.claim({ lanes: ["lane-0", "lane-1", "lane-2"], max: 4 });
		const rest = await all(scene, { state: "open", limit: 6, cursor: first.nextCursor ?? "" });
		expect(rest).toEqual(ids.slice(6));
	});

	test("members of a flow and children are narrowed by states too", async (scene) => {
		const flow = await scene.backend.flows.create(drawn({ nodes: ["a", "b"], edges: ["a > b"] }));
		const { a = "", b = "" } = flow.nodes;
		expect(await all(scene, { flowId: flow.id, state: ["waiting", "waiting_children"] })).toEqual([b, a]);
		expect(await all(scene, { flowId: flow.id, state: "ended" })).toEqual([]);
		expect(await all(scene, { flowId: flow.id, reason: "waiting_for_children" })).toEqual([b]);
	});

	test("work is found by why it does not run", async (scene) => {
		const { active, waiting, delayed, failed, cancelled } = await oneOfEach(scene);
		const approval = await suspended(scene, { reason: "waiting_for_approval" }, { lane: "s" });
		const signal = await suspended(scene, {}, { lane: "s" });
		expect(await all(scene, { reason: "waiting_for_worker" })).toEqual([waiting]);
		expect(await all(scene, { reason: "waiting_for_delay" })).toEqual([delayed]);
		expect(await all(scene, { reason: "waiting_for_approval" })).toEqual([approval.id]);
		expect(await all(scene, { reason: "waiting_for_signal" })).toEqual([signal.id]);
		expect((await all(scene, { reason: "none" })).sort()).toEqual([active, failed, cancelled].sort());
		expect(await all(scene, { reason: "none", state: "open" })).toEqual([active]);
		expect(await all(scene, { reason: "waiting_for_worker", state: "ended" })).toEqual([]);
		for (const reason of BLOCKING_REASONS) {
			for (const found of await executions(scene, { reason })) expect(found.state.blockingReason).toBe(reason);
		}
	});

	test("a paused lane is the reason of what could be claimed in it, and of nothing else", async (scene) => {
		const held = await scene.create({ lane: "media" });
		const delayed = await scene.create({ lane: "media", delayMs: 1000 });
		const free = await scene.create();
		const policy = await suspended(scene, { reason: "paused_by_policy" }, { lane: "s" });
		await scene.backend.lanes.pause("media");
		expect((await all(scene, { reason: "paused_by_policy" })).sort()).toEqual([held, policy.id].sort());
		expect(await all(scene, { reason: "paused_by_policy", state: "waiting" })).toEqual([held]);
		expect(await all(scene, { reason: "waiting_for_worker" })).toEqual([free]);
		expect(await all(scene, { reason: "waiting_for_delay" })).toEqual([delayed]);
		await scene.backend.lanes.resume("media");
		expect((await all(scene, { reason: "waiting_for_worker" })).sort()).toEqual([held, free].sort());
		expect(await all(scene, { reason: "paused_by_policy" })).toEqual([policy.id]);
	});

	test("a bulk action takes several states, groups and reasons", async (scene) => {
		const { waiting, delayed, active, failed, cancelled } = await oneOfEach(scene);
		await scene.backend.lanes.pause("held");
		const held = await scene.create({ lane: "held" });
		const cancel = (filter: ListRequest) => scene.ff.bulk({ filter, action: "cancel" });
		expect(await cancel({ reason: "paused_by_policy" })).toMatchObject({ done: 1, failed: 0 });
		expect((await scene.get(held)).publicState).toBe("cancelled");
		expect(await cancel({ state: ["waiting", "delayed"] })).toMatchObject({ done: 2, failed: 0 });
		for (const id of [waiting, delayed]) expect((await scene.get(id)).publicState).toBe("cancelled");
		expect((await scene.get(active)).cancel).toBeUndefined();
		expect(await scene.ff.bulk({ filter: { state: "ended" }, action: "delete" })).toMatchObject({ done: 5, failed: 0 });
		expect(await scene.listed()).toEqual([active]);
		for (const id of [failed, cancelled]) expect(await refusal(scene.get(id))).toBeTruthy();
	});

	test("an unknown state or reason is refused with what is allowed", async (scene) => {
		const list = (request: object) => refusal(scene.backend.executions.list(request as ListRequest));
		const bulk = (filter: object) => refusal(scene.backend.executions.bulk({ filter, action: "cancel" } as never));
		const states = STATE_NAMES.join(", ");
		expect((await list({ state: "running" })).message).toBe(
			`state: must be one or more, comma-separated, of ${states}, got "running"`,
		);
		expect(await list({ state: "waiting,running" })).toMatchObject({
			code: "invalid_input",
			details: { field: "state" },
		});
		expect(await bulk({ state: ["waiting", "running"] })).toMatchObject({
			message: `filter.state[1]: must be one of ${states}, got "running"`,
		});
		for (const state of ["", ",", "waiting,"]) expect((await list({ state })).details).toEqual({ field: "state" });
		expect(await bulk({ state: [] })).toMatchObject({ details: { field: "filter.state" } });
		expect((await list({ reason: "tired" })).message).toBe(
			`reason: must be one of ${BLOCKING_REASONS.join(", ")}, got "tired"`,
		);
	});
}

/** One execution in each of several states, created in this order, each in a lane of its own. */
async function oneOfEach(scene: Scene) {
	const next = () => scene.clock.advance(1);
	const { id: active } = await scene.start({ lane: "a" }, { leaseMs: 3_600_000 });
	await next();
	const failing = await scene.start({ lane: "b" });
	await scene.backend.leases.fail(failing.id, { fence: failing.fence, reason: "broken" });
	await next();
	const cancelled = await scene.create({ lane: "c" });
	await scene.backend.executions.cancel(cancelled);
	await next();
	const waiting = await scene.create({ lane: "d" });
	await next();
	const delayed = await scene.create({ lane: "e", delayMs: 100_000 });
	await next();
	return { active, failed: failing.id, cancelled, waiting, delayed };
}

/** Everything, page by page. */
async function executions(scene: Scene, request: ListRequest): Promise<Execution[]> {
	const found: Execution[] = [];
	let cursor = request.cursor;
	do {
		const page = await scene.ff.list({ ...request, ...(cursor ? { cursor } : undefined) });
		found.push(...page.executions);
		cursor = page.nextCursor;
	} while (cursor !== undefined);
	return found;
}

const all = async (scene: Scene, request: ListRequest): Promise<string[]> =>
	(await executions(scene, request)).map(({ id }) => id);
