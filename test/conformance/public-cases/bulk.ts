import { expect } from "vitest";
import type { BulkRequest } from "../../../src/index.ts";
import { type PublicCase, refusal } from "../scene.ts";

/** One action on everything a filter finds. */
export function bulkCases(test: PublicCase): void {
	test(
		"cancelling reaches work that waits, is delayed or runs, and nothing else",
		async (scene) => {
			const active = await scene.start({ lane: "a" });
			const waiting = await scene.create({ lane: "a" });
			const delayed = await scene.create({ lane: "a", delayMs: 1000 });
			const others = [await scene.create({ lane: "b" }), await scene.create({ lane: "a", namespace: "n" })];
			const answer = await scene.ff.bulk({ filter: { lane: "a" }, action: "cancel", reason: "not needed" });
			expect(answer).toEqual({ done: 3, failed: 0, errors: [] });
			expect(await scene.get(active.id)).toMatchObject({ publicState: "active", cancel: { reason: "not needed" } });
			for (const id of [waiting, delayed]) {
				expect(await scene.get(id)).toMatchObject({ publicState: "cancelled", cancel: { reason: "not needed" } });
			}
			for (const id of others) expect(await scene.eventTypes(id)).toEqual(["created"]);
			expect((await scene.events(waiting)).at(-1)).toMatchObject({ type: "cancelled", actor: "ops" });
		},
		{ actor: "ops" },
	);

	test("replaying runs what failed again", async (scene) => {
		const failed: string[] = [];
		for (let n = 0; n < 3; n++) {
			const { id, fence } = await scene.start();
			await scene.backend.leases.fail(id, { fence, reason: "broken" });
			failed.push(id);
		}
		const { id: completed } = await scene.finished();
		const answer = await scene.backend.executions.bulk({ filter: { state: "failed" }, action: "replay" });
		expect(answer).toEqual({ done: 3, failed: 0, errors: [] });
		for (const id of failed) expect(await scene.get(id)).toMatchObject({ publicState: "waiting", replays: 1 });
		expect((await scene.get(completed)).publicState).toBe("completed");
	});

	test("deleting removes what a tag finds", async (scene) => {
		const { id: kept } = await scene.finished();
		for (let n = 0; n < 3; n++) await scene.finished({ tags: { run: "7" } });
		const answer = await scene.backend.executions.bulk({ filter: { tag: "run:7" }, action: "delete" });
		expect(answer).toEqual({ done: 3, failed: 0, errors: [] });
		expect(await scene.listed()).toEqual([kept]);
	});

	test("what cannot be done is counted and told, and keeps nothing else from being done", async (scene) => {
		const { id: ended } = await scene.finished({ kind: "a" });
		const waiting = await scene.create({ kind: "a" });
		const request = { filter: { kind: "a" }, action: "cancel" } as const;
		const answer = await scene.backend.executions.bulk(request);
		expect(answer).toMatchObject({ done: 1, failed: 1 });
		expect(answer.errors).toEqual([
			{ id: ended, error: expect.objectContaining({ code: "execution_not_active", retryable: false }) },
		]);
		expect((await scene.get(waiting)).publicState).toBe("cancelled");
		const running = await scene.create({ kind: "a" });
		expect(await scene.backend.executions.bulk({ ...request, action: "delete" })).toMatchObject({
			done: 2,
			failed: 1,
			errors: [{ id: running, error: { code: "execution_not_terminal" } }],
		});
	});

	test("a call made again does no harm: what is cancelled already is done", async (scene) => {
		await scene.start({ lane: "a" });
		await scene.create({ lane: "a" });
		await scene.backend.executions.cancel(await scene.create({ lane: "a" }), { reason: "first" });
		const request = { filter: { lane: "a" }, action: "cancel", reason: "second" } as const;
		const events = async () =>
			Promise.all((await scene.listed()).map(async (id) => (await scene.events(id)).map(({ type }) => type)));
		expect(await scene.backend.executions.bulk(request)).toEqual({ done: 3, failed: 0, errors: [] });
		const once = await events();
		expect(await scene.backend.executions.bulk(request)).toEqual({ done: 3, failed: 0, errors: [] });
		expect(await events()).toEqual(once);
	});

	test("the same call many times at once ends as one would", async (scene) => {
		for (let n = 0; n < 20; n++) await scene.create({ lane: "a" });
		const request: BulkRequest = { filter: { lane: "a" }, action: "cancel" };
		const answers = await Promise.all(Array.from({ length: 5 }, () => scene.backend.executions.bulk(request)));
		for (const answer of answers) expect(answer).toEqual({ done: 20, failed: 0, errors: [] });
		const deletes = await Promise.all(
			Array.from({ length: 5 }, () => scene.backend.executions.bulk({ ...request, action: "delete" })),
		);
		for (const answer of deletes) expect(answer.failed).toBe(0);
		expect(await scene.listed()).toEqual([]);
	});

	test("at most 1000 are done in one call, the rest by going on from its cursor", async (scene) => {
		for (let n = 0; n < 3; n++) {
			await scene.backend.executions.createMany(Array.from({ length: 500 }, () => ({ kind: "job" })));
		}
		const request: BulkRequest = { filter: { state: "waiting" }, action: "cancel" };
		const first = await scene.backend.executions.bulk(request);
		expect(first).toEqual({ done: 1000, failed: 0, errors: [], nextCursor: expect.any(String) });
		const cursor = first.nextCursor ?? "";
		expect(await scene.backend.executions.bulk({ ...request, cursor })).toEqual({ done: 500, failed: 0, errors: [] });
		expect((await scene.backend.executions.list({ state: "waiting" })).executions).toEqual([]);
	});

	test("of many failures the first 100 are told and all are counted", async (scene) => {
		await scene.backend.executions.createMany(Array.from({ length: 150 }, () => ({ kind: "job" })));
		const answer = await scene.backend.executions.bulk({ filter: { kind: "job" }, action: "replay" });
		expect(answer).toMatchObject({ done: 0, failed: 150 });
		expect(answer.errors).toHaveLength(100);
		expect(new Set(answer.errors.map(({ id }) => id)).size).toBe(100);
		expect(answer.errors.every(({ error }) => error.code === "execution_not_terminal")).toBe(true);
	});

	test("a filter that names nothing, or only a namespace, is refused: it would hit everything", async (scene) => {
		const id = await scene.create();
		for (const filter of [{}, { namespace: "default" }]) {
			const error = await refusal(scene.backend.executions.bulk({ filter, action: "cancel" }));
			expect(error).toMatchObject({ code: "invalid_input", status: 400, details: { field: "filter" } });
			expect(error.message).toContain("createdAfter");
		}
		expect(await scene.eventTypes(id)).toEqual(["created"]);
		await scene.backend.executions.bulk({ filter: { createdAfter: 0 }, action: "cancel" });
		expect((await scene.get(id)).publicState).toBe("cancelled");
	});
}
