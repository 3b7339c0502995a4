import { expect } from "vitest";
import type { ListRequest } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

/** Narrowing a list beyond namespace, lane and state. */
export function listFilterCases(test: PublicCase): void {
	test("a list can be narrowed to a kind", async (scene) => {
		const a = await scene.create({ kind: "a" });
		await scene.create({ kind: "ab" });
		expect(await all(scene, { kind: "a" })).toEqual([a]);
		expect(await all(scene, { kind: "none" })).toEqual([]);
	});

	test("a list can be narrowed to a tag with its value", async (scene) => {
		const red = await scene.create({ tags: { team: "red", "a.b": "x:y" } });
		const blue = await scene.create({ tags: { team: "blue", note: "" } });
		await scene.create();
		expect(await all(scene, { tag: "team:red" })).toEqual([red]);
		expect(await all(scene, { tag: "team:blue" })).toEqual([blue]);
		expect(await all(scene, { tag: "a.b:x:y" })).toEqual([red]);
		expect(await all(scene, { tag: "note:" })).toEqual([blue]);
		for (const tag of ["team:", "team:re", "tea:red", "note:x", "constructor:"]) {
			expect(await all(scene, { tag })).toEqual([]);
		}
	});

	test("a list by tag follows changes of tags", async (scene) => {
		const id = await scene.create({ tags: { team: "red" } });
		await scene.backend.executions.setTags(id, { set: { team: "blue" } });
		expect(await all(scene, { tag: "team:red" })).toEqual([]);
		expect(await all(scene, { tag: "team:blue" })).toEqual([id]);
	});

	test("createdAfter holds what was created then or later, createdBefore what was created earlier", async (scene) => {
		const start = scene.now;
		const ids: string[] = [];
		for (let n = 0; n < 5; n++) {
			ids.unshift(await scene.create());
			await scene.clock.advance(10);
		}
		const at = (n: number): number => start + 10 * n;
		expect(await all(scene, { createdAfter: at(2) })).toEqual(ids.slice(0, 3));
		expect(await all(scene, { createdAfter: at(2) + 1 })).toEqual(ids.slice(0, 2));
		expect(await all(scene, { createdBefore: at(2) })).toEqual(ids.slice(3));
		expect(await all(scene, { createdBefore: at(2) + 1 })).toEqual(ids.slice(2));
		expect(await all(scene, { createdAfter: at(1), createdBefore: at(3) })).toEqual([ids[2], ids[3]]);
		expect(await all(scene, { createdAfter: 0 })).toEqual(ids);
		expect(await all(scene, { createdBefore: 0 })).toEqual([]);
		expect(await all(scene, { createdAfter: at(3), createdBefore: at(1) })).toEqual([]);
	});

	test("ranges that follow one another miss nothing and share nothing", async (scene) => {
		const start = scene.now;
		const ids: string[] = [];
		for (let n = 0; n < 12; n++) {
			const created = await scene.backend.executions.createMany([{ kind: "a" }, { kind: "b" }]);
			ids.push(...created.map(({ id }) => id ?? ""));
			await scene.clock.advance(1);
		}
		const found: string[] = [];
		for (let from = start; from < scene.now; from += 5) {
			found.push(...(await all(scene, { createdAfter: from, createdBefore: from + 5, limit: 3 })));
		}
		expect(found.sort()).toEqual(ids.sort());
	});

	test("the id of no flow is refused by name", async (scene) => {
		const flowId = `ex_${"0".repeat(32)}_16383`;
		const error = await refusal(scene.backend.executions.list({ flowId }));
		expect(error).toMatchObject({ code: "invalid_input", details: { field: "flowId" } });
	});

	test("everything given must hold", async (scene) => {
		const wanted = { kind: "a", lane: "l", tags: { team: "red" } };
		const id = await scene.create(wanted);
		await scene.create({ ...wanted, kind: "b" });
		await scene.create({ ...wanted, lane: "m" });
		await scene.create({ ...wanted, tags: {} });
		await scene.create({ ...wanted, namespace: "n" });
		const cancelled = await scene.create(wanted);
		await scene.backend.executions.cancel(cancelled);
		await scene.clock.advance(1);
		await scene.create(wanted);
		const filter = { kind: "a", lane: "l", tag: "team:red", createdBefore: scene.now } as const;
		expect(await all(scene, { ...filter, state: "waiting" })).toEqual([id]);
		expect(await all(scene, { ...filter, state: "cancelled" })).toEqual([cancelled]);
	});

	test("pages of a narrowed list follow one another in order, without a gap or a repeat", async (scene) => {
		const wanted: string[] = [];
		for (let n = 0; n < 40; n++) {
			const id = await scene.create({ kind: n % 3 ? "b" : "a", lane: `lane-${n % 2}`, tags: { n: String(n % 4) } });
			if (n % 3 === 0) wanted.unshift(id);
			await scene.clock.advance(1);
		}
		for (const limit of [1, 4, 14, 15]) expect(await all(scene, { kind: "a", limit })).toEqual(wanted);
		const { nextCursor } = await scene.backend.executions.list({ kind: "a", limit: 5 });
		for (const id of wanted.slice(0, 5)) await scene.backend.executions.cancel(id);
		await scene.create({ kind: "a" });
		expect(await all(scene, { kind: "a", limit: 5, cursor: nextCursor ?? "" })).toEqual(wanted.slice(5));
	});

	test("what is rare is found too, over pages that may be empty", async (scene) => {
		const rare = await scene.create({ tags: { rare: "yes" } });
		await scene.clock.advance(1);
		for (let n = 0; n < 3; n++) {
			await scene.backend.executions.createMany(Array.from({ length: 1000 }, () => ({ kind: "job" })));
		}
		const first = await scene.backend.executions.list({ tag: "rare:yes" });
		expect(first.executions).toEqual([]);
		expect(first.nextCursor).toBeTypeOf("string");
		expect(await all(scene, { tag: "rare:yes" })).toEqual([rare]);
	});

	test("a tag to list by must be a key and a value", async (scene) => {
		for (const tag of ["", "team", ":red", "Team:red", "a..b:c", "a b:c", `a:${"x".repeat(600)}`]) {
			const error = await refusal(scene.backend.executions.list({ tag }));
			expect(error).toMatchObject({ code: "invalid_input", details: { field: "tag" } });
		}
	});
}

/** Everything, page by page. */
async function all(scene: Scene, request: ListRequest): Promise<string[]> {
	const ids: string[] = [];
	let cursor = request.cursor;
	do {
		const page = await scene.backend.executions.list({ ...request, ...(cursor ? { cursor } : undefined) });
		ids.push(...page.executions.map(({ id }) => id));
		cursor = page.nextCursor;
	} while (cursor !== undefined);
	return ids;
}
