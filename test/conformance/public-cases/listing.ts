import { expect } from "vitest";
import type { Execution, ListRequest, PublicState } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

export function listingCases(test: PublicCase): void {
	test("a new store lists nothing", async (scene) => {
		expect(await scene.backend.executions.list()).toEqual({ executions: [] });
		expect(await scene.ff.list()).toEqual({ executions: [] });
	});

	test("executions are listed newest first, as they are read", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 10; n++) {
			ids.push(await scene.create({ priority: n % 3 }));
			await scene.clock.advance(5);
		}
		const { executions } = await scene.backend.executions.list();
		expect(executions.map(({ id }) => id)).toEqual([...ids].reverse());
		for (const execution of executions) expect(execution).toEqual(await scene.get(execution.id));
	});

	test("work of the same millisecond is listed too, each once", async (scene) => {
		const created = await scene.backend.executions.createMany(Array.from({ length: 30 }, () => ({ kind: "job" })));
		const ids = created.map(({ id }) => id);
		expect((await scene.listed()).sort()).toEqual(ids.sort());
		expect((await pages(scene, { limit: 7 })).sort()).toEqual(ids);
	});

	test("a list holds one namespace, the default one unless named", async (scene) => {
		const plain = await scene.create();
		const other = await scene.create({ namespace: "other" });
		expect(await scene.listed()).toEqual([plain]);
		expect(await scene.listed("other")).toEqual([other]);
		expect(await scene.listed("oth")).toEqual([]);
		expect(await scene.listed("other.")).toEqual([]);
	});

	test("a list can be narrowed to a lane", async (scene) => {
		const a = await scene.create({ lane: "a" });
		const ab = await scene.create({ lane: "ab" });
		await scene.create();
		expect(idsOf(await scene.backend.executions.list({ lane: "a" }))).toEqual([a]);
		expect(idsOf(await scene.backend.executions.list({ lane: "ab" }))).toEqual([ab]);
		expect(idsOf(await scene.backend.executions.list({ lane: "none" }))).toEqual([]);
	});

	test("a list can be narrowed to each state that work can reach", async (scene) => {
		const expired = await scene.create({ policy: { timeouts: { queueMs: 1 } } });
		await scene.clock.advance(1);
		const { id: completed } = await scene.finished();
		const failing = await scene.start();
		await scene.backend.leases.fail(failing.id, { fence: failing.fence, reason: "broken" });
		const { id: active } = await scene.start();
		const waiting = await scene.create();
		const delayed = await scene.create({ delayMs: 1000 });
		const cancelled = await scene.create();
		await scene.backend.executions.cancel(cancelled);
		const reached: Partial<Record<PublicState, string>> = {
			waiting,
			delayed,
			active,
			completed,
			failed: failing.id,
			cancelled,
			expired,
		};
		for (const [state, id] of Object.entries(reached)) {
			const { executions } = await scene.backend.executions.list({ state: state as PublicState });
			expect(executions.map((each) => [each.id, each.publicState])).toEqual([[id, state]]);
		}
	});

	test("lane and state narrow a list together", async (scene) => {
		const a = await scene.create({ lane: "a" });
		await scene.create({ lane: "b" });
		const done = await scene.create({ lane: "a" });
		await scene.backend.executions.cancel(done);
		expect(idsOf(await scene.backend.executions.list({ lane: "a", state: "waiting" }))).toEqual([a]);
		expect(idsOf(await scene.backend.executions.list({ lane: "a", state: "cancelled" }))).toEqual([done]);
		expect(idsOf(await scene.backend.executions.list({ lane: "b", state: "cancelled" }))).toEqual([]);
	});

	test("a page holds 100 unless asked otherwise", async (scene) => {
		await scene.backend.executions.createMany(Array.from({ length: 120 }, () => ({ kind: "job" })));
		const { executions, nextCursor } = await scene.backend.executions.list();
		expect(executions.length).toBeLessThanOrEqual(100);
		expect(nextCursor).toBeTypeOf("string");
		expect(await pages(scene, {})).toHaveLength(120);
	});

	test("pages follow one another without a gap or a repeat", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 25; n++) {
			ids.unshift(await scene.create({ lane: `lane-${n % 3}` }));
			await scene.clock.advance(1);
		}
		for (const limit of [1, 4, 25, 26]) expect(await pages(scene, { limit })).toEqual(ids);
		const inLane = ids.filter((_, n) => (ids.length - 1 - n) % 3 === 1);
		expect(await pages(scene, { limit: 2, lane: "lane-1" })).toEqual(inLane);
	});

	test("the last page has no cursor", async (scene) => {
		await scene.create();
		await scene.create();
		expect(await scene.backend.executions.list({ limit: 2 })).not.toHaveProperty("nextCursor");
		expect(await scene.backend.executions.list({ limit: 1 })).toHaveProperty("nextCursor");
	});

	test("a cursor stays good while work is created, changed and deleted", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 12; n++) {
			ids.unshift(await scene.create());
			await scene.clock.advance(1);
		}
		const first = await scene.backend.executions.list({ limit: 4 });
		expect(idsOf(first)).toEqual(ids.slice(0, 4));
		await scene.create();
		await scene.claim({ max: 2 });
		const [gone, ended] = [ids[5] ?? "", ids[6] ?? ""];
		await scene.backend.executions.cancel(gone);
		await scene.backend.executions.delete(gone);
		await scene.backend.executions.cancel(ended);
		const rest = await pages(scene, { limit: 4, cursor: first.nextCursor ?? "" });
		expect(rest).toEqual(ids.slice(4).filter((id) => id !== gone));
	});

	test("the order of a list does not change when work changes its state", async (scene) => {
		const old = await scene.create();
		await scene.clock.advance(1);
		const young = await scene.create();
		await scene.take();
		await scene.clock.advance(1);
		expect(await scene.listed()).toEqual([young, old]);
		await scene.backend.executions.cancel(old, { mode: "force" });
		expect(await scene.listed()).toEqual([young, old]);
		await scene.backend.executions.replay(old);
		expect(await scene.listed()).toEqual([young, old]);
	});

	test("a read or list sees every change answered before it", async (scene) => {
		for (let n = 0; n < 10; n++) {
			const id = await scene.create();
			expect(await scene.listed()).toContain(id);
			const { fence } = await scene.take();
			expect((await scene.get(id)).publicState).toBe("active");
			await scene.backend.leases.complete(id, { fence });
			expect((await scene.get(id)).publicState).toBe("completed");
			await scene.backend.executions.delete(id);
			expect(await scene.listed()).toEqual([]);
		}
	});

	test("a cursor that was never given is refused by name", async (scene) => {
		const id = await scene.create();
		const { nextCursor } = await scene.backend.executions.events(id);
		for (const cursor of ["nonsense", nextCursor, "W10", "e30", "bnVsbA"]) {
			const error = await refusal(scene.backend.executions.list({ cursor }));
			expect(error).toMatchObject({ code: "invalid_input", status: 400, details: { field: "cursor" } });
		}
	});
}

const idsOf = ({ executions }: { executions: Execution[] }): string[] => executions.map(({ id }) => id);

/** Everything, page by page. */
async function pages(scene: Scene, request: ListRequest): Promise<string[]> {
	const ids: string[] = [];
	let cursor = request.cursor;
	do {
		const page = await scene.backend.executions.list({
			...request,
			...(cursor === undefined ? undefined : { cursor }),
		});
		if (request.limit !== undefined) expect(page.executions.length).toBeLessThanOrEqual(request.limit);
		ids.push(...idsOf(page));
		cursor = page.nextCursor;
	} while (cursor !== undefined);
	return ids;
}
