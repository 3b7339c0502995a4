import { expect } from "vitest";
import type { ListRequest } from "../../../src/index.ts";
import { drawn } from "../flow-work.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const HOUR = 3_600_000;

/** The idempotency key on reads, and lists by it. */
export function listKeyCases(test: PublicCase): void {
	test("reads show the key that work was submitted under, and none where there was none", async (scene) => {
		const keyed = await scene.create({ idempotencyKey: "order-17" });
		const plain = await scene.create();
		const empty = await scene.create({ idempotencyKey: "" });
		expect((await scene.get(keyed)).idempotencyKey).toBe("order-17");
		for (const id of [plain, empty]) expect(await scene.get(id)).not.toHaveProperty("idempotencyKey");
		const { executions } = await scene.ff.list();
		expect(executions.find(({ id }) => id === keyed)?.idempotencyKey).toBe("order-17");
		expect((await scene.backend.executions.wait(keyed, { timeoutMs: 0 })).idempotencyKey).toBe("order-17");
	});

	test("a key leads to its execution, whatever became of it", async (scene) => {
		const { id } = await scene.finished({ idempotencyKey: "k", lane: "l", tags: { team: "red" } });
		await scene.create({ idempotencyKey: "k2" });
		await scene.create();
		expect(await found(scene, { idempotencyKey: "k" })).toEqual([id]);
		expect(await found(scene, { idempotencyKey: "k", state: "ended", lane: "l", tag: "team:red" })).toEqual([id]);
		const misses: ListRequest[] = [
			{ state: "open" },
			{ lane: "m" },
			{ kind: "other" },
			{ reason: "waiting_for_worker" },
		];
		for (const miss of misses) expect(await found(scene, { idempotencyKey: "k", ...miss })).toEqual([]);
		expect(await found(scene, { idempotencyKey: "K" })).toEqual([]);
	});

	test("a key belongs to its namespace", async (scene) => {
		const id = await scene.create({ idempotencyKey: "k" });
		const other = await scene.create({ idempotencyKey: "k", namespace: "a" });
		expect(await found(scene, { idempotencyKey: "k" })).toEqual([id]);
		expect(await found(scene, { idempotencyKey: "k", namespace: "a" })).toEqual([other]);
		const ada = scene.as({ actor: "ada", namespace: "a" });
		expect((await ada.executions.list({ idempotencyKey: "k" })).executions.map((each) => each.id)).toEqual([other]);
		const bob = scene.as({ actor: "bob", namespace: "b" });
		expect(await bob.executions.list({ idempotencyKey: "k" })).toEqual({ executions: [] });
	});

	test("what a key leads to ends with its window, and with its execution", async (scene) => {
		const first = await scene.create({ idempotencyKey: "k", policy: { dedupWindowMs: HOUR } });
		await scene.clock.advance(HOUR - 1);
		expect(await found(scene, { idempotencyKey: "k" })).toEqual([first]);
		await scene.clock.advance(1);
		expect(await found(scene, { idempotencyKey: "k" })).toEqual([]);
		expect((await scene.get(first)).idempotencyKey).toBe("k");
		const second = await scene.create({ idempotencyKey: "k", policy: { dedupWindowMs: HOUR } });
		expect(await found(scene, { idempotencyKey: "k" })).toEqual([second]);
		await scene.backend.executions.cancel(second);
		await scene.backend.executions.delete(second);
		expect(await found(scene, { idempotencyKey: "k" })).toEqual([]);
	});

	test("the key of a node leads to its member, the key of a flow to no execution", async (scene) => {
		const nodes = ["a", { key: "b", idempotencyKey: "member" }];
		const flow = await scene.backend.flows.create(drawn({ idempotencyKey: "whole", nodes, edges: ["a > b"] }));
		expect(await found(scene, { idempotencyKey: "member" })).toEqual([flow.nodes.b]);
		expect(await found(scene, { idempotencyKey: "member", flowId: flow.id })).toEqual([flow.nodes.b]);
		expect(await found(scene, { idempotencyKey: "whole" })).toEqual([]);
	});

	test("a bulk action reaches what a key leads to", async (scene) => {
		const id = await scene.create({ idempotencyKey: "k" });
		const other = await scene.create();
		const answer = await scene.ff.bulk({ filter: { idempotencyKey: "k" }, action: "cancel" });
		expect(answer).toEqual({ done: 1, failed: 0, errors: [] });
		expect((await scene.get(id)).publicState).toBe("cancelled");
		expect((await scene.get(other)).publicState).toBe("waiting");
	});

	test("an empty key is refused, and so is a cursor beside a key", async (scene) => {
		await scene.create();
		await scene.create();
		const { nextCursor = "" } = await scene.ff.list({ limit: 1 });
		expect(await refusal(scene.ff.list({ idempotencyKey: "" }))).toMatchObject({
			details: { field: "idempotencyKey" },
		});
		const error = await refusal(scene.ff.list({ idempotencyKey: "k", cursor: nextCursor }));
		expect(error).toMatchObject({ code: "invalid_input", details: { field: "cursor" } });
	});
}

const found = async (scene: Scene, request: ListRequest): Promise<string[]> =>
	(await scene.ff.list(request)).executions.map(({ id }) => id);
