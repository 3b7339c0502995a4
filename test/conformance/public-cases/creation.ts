import { expect } from "vitest";
import type { CreateRequest } from "../../../src/index.ts";
import { type PublicCase, refusal } from "../scene.ts";

export function creationCases(test: PublicCase): void {
	test("a create with only a kind gets every default", async (scene) => {
		const created = await scene.backend.executions.create({ kind: "job" });
		expect(created).toEqual({ id: created.id, publicState: "waiting", created: true });
		expect(await scene.get(created.id)).toMatchObject({
			id: created.id,
			kind: "job",
			namespace: "default",
			lane: "default",
			priority: 0,
			publicState: "waiting",
			retries: 0,
			reclaims: 0,
			replays: 0,
			tags: {},
			policy: {},
			createdAt: scene.now,
		});
	});

	test("times not reached and things not there are left out", async (scene) => {
		const execution = await scene.get(await scene.create());
		const absent = ["delayUntil", "startedAt", "completedAt", "lease", "progress", "failure", "cancel", "flowId"];
		for (const field of absent) expect(execution).not.toHaveProperty(field);
	});

	test("everything given at creation is shown again", async (scene) => {
		const policy = {
			retry: { maxRetries: 5, backoff: { type: "fixed" as const, delayMs: 10 }, retryableCategories: ["net"] },
			timeouts: { attemptMs: 1000, queueMs: 2000, deadlineMs: 3000 },
			maxReclaims: 1,
			maxReplays: 2,
			retentionMs: 4000,
			dedupWindowMs: 5000,
		};
		const id = await scene.create({ kind: "k", lane: "l", namespace: "n", priority: 7, createdBy: "ada", policy });
		expect(await scene.get(id)).toMatchObject({
			kind: "k",
			lane: "l",
			namespace: "n",
			priority: 7,
			createdBy: "ada",
			policy,
		});
	});

	test(
		"createdBy is whoever acts when it is not given",
		async (scene) => {
			expect((await scene.get(await scene.create())).createdBy).toBe("batch-importer");
		},
		{ actor: "batch-importer" },
	);

	test("an id has the documented form, and ids sort by creation", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 20; n++) {
			ids.push(await scene.create());
			if (n % 5 === 4) await scene.clock.advance(1);
		}
		for (const id of ids) {
			const slot = /^ex_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}_(0|[1-9][0-9]*)$/.exec(id)?.[1];
			expect(Number(slot)).toBeLessThan(16384);
		}
		expect([...ids].sort()).toEqual(ids);
		expect(new Set(ids).size).toBe(ids.length);
	});

	test("a field given as undefined counts as not given", async (scene) => {
		const given = { kind: "job", lane: undefined, priority: undefined, policy: { retry: undefined } };
		const { id } = await scene.backend.executions.create(given as unknown as CreateRequest);
		expect(await scene.get(id)).toMatchObject({ lane: "default", priority: 0 });
	});

	test("a priority above 9000 counts as 9000", async (scene) => {
		for (const priority of [9001, Number.MAX_SAFE_INTEGER]) {
			expect((await scene.get(await scene.create({ priority }))).priority).toBe(9000);
		}
		expect((await scene.get(await scene.create({ priority: 9000 }))).priority).toBe(9000);
	});

	test("a priority below 0 counts as 0", async (scene) => {
		for (const priority of [-1, Number.MIN_SAFE_INTEGER]) {
			expect((await scene.get(await scene.create({ priority }))).priority).toBe(0);
		}
	});

	test("a delayUntil in the past or now means eligible now", async (scene) => {
		for (const delayUntil of [0, scene.now - 1, scene.now]) {
			const created = await scene.backend.executions.create({ kind: "job", delayUntil });
			expect(created.publicState).toBe("waiting");
			expect(await scene.get(created.id)).not.toHaveProperty("delayUntil");
		}
		expect(await scene.claim({ max: 10 })).toHaveLength(3);
	});

	test("a delayUntil in the future holds the work back until then", async (scene) => {
		const created = await scene.backend.executions.create({ kind: "job", delayUntil: scene.now + 5000 });
		expect(created.publicState).toBe("delayed");
		await scene.clock.advance(4999);
		expect(await scene.claim()).toEqual([]);
		await scene.clock.advance(1);
		expect((await scene.take()).id).toBe(created.id);
	});

	test("delayMs counts from the moment of creation", async (scene) => {
		await scene.clock.advance(123);
		const id = await scene.create({ delayMs: 5000 });
		expect((await scene.get(id)).delayUntil).toBe(scene.now + 5000);
		await scene.clock.advance(5000);
		expect((await scene.take()).id).toBe(id);
	});

	test("delayMs 0 means eligible now", async (scene) => {
		expect(await scene.backend.executions.create({ kind: "job", delayMs: 0 })).toMatchObject({
			publicState: "waiting",
		});
	});

	test("a delay of ten years is accepted", async (scene) => {
		const delayMs = 10 * 365 * 86_400_000;
		const id = await scene.create({ delayMs });
		expect((await scene.get(id)).delayUntil).toBe(scene.now + delayMs);
	});

	test("kinds may hold any characters, and claims find them", async (scene) => {
		for (const kind of ["a,b", "résumé", "日本 🦊", "x".repeat(256), "with space", "eligible,default,default,job"]) {
			const id = await scene.create({ kind });
			expect((await scene.take({ kinds: [kind] })).id).toBe(id);
			expect((await scene.get(id)).kind).toBe(kind);
		}
	});

	test("lanes may hold any printable ASCII but comma, and claims find them", async (scene) => {
		const printable = Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n)).filter((char) => char !== ",");
		for (const lane of [printable.slice(0, 64).join(""), printable.slice(30).join(""), " ", "~"]) {
			const id = await scene.create({ lane });
			expect((await scene.take({ lanes: [lane] })).id).toBe(id);
			expect((await scene.backend.executions.list({ lane })).executions.map((each) => each.id)).toEqual([id]);
		}
	});

	test("submit gives a run that knows its execution", async (scene) => {
		const run = await scene.ff.submit("job", { a: 1 }, { lane: "fast", priority: 3 });
		expect(run.created).toBe(true);
		expect(await run.get()).toMatchObject({ id: run.id, kind: "job", lane: "fast", priority: 3 });
		expect(await scene.take({ lanes: ["fast"] })).toMatchObject({ id: run.id, input: { a: 1 } });
	});

	test("a run found again by its id is the same work", async (scene) => {
		const { id } = await scene.ff.submit("job", "payload");
		const found = scene.ff.run(id);
		expect(found.id).toBe(id);
		expect(await found.get()).toEqual(await scene.ff.get(id));
	});

	test("an unknown id is not found by any call about it", async (scene) => {
		const { ff, backend } = scene;
		const id = `ex_${"0".repeat(32)}_16383`;
		const calls = [
			() => ff.get(id),
			() => ff.wait(id),
			() => ff.result(id),
			() => ff.events(id),
			() => ff.attempts(id),
			() => ff.cancel(id),
			() => ff.replay(id),
			() => ff.delete(id),
			() => ff.revokeLease(id),
			() => ff.changePriority(id, { priority: 1 }),
			() => ff.setTags(id, {}),
			() => backend.executions.input(id),
			() => backend.executions.result(id),
		];
		for (const call of calls) {
			expect(await refusal(call())).toMatchObject({ code: "execution_not_found", status: 404, retryable: false });
		}
	});
}
