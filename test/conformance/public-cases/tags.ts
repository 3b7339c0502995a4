import { expect } from "vitest";
import type { CreateRequest } from "../../../src/index.ts";
import { type PublicCase, refusal } from "../scene.ts";

const many = (count: number, value: (n: number) => string = String): Record<string, string> =>
	Object.fromEntries(Array.from({ length: count }, (_, n) => [`t${n}`, value(n)]));

const goodKeys = ["a", "team", "a1_b", "a.b", "a.1.c_d", "constructor", "x".repeat(256)];
const badKeys = [
	"",
	"A",
	"1a",
	"_a",
	".a",
	"a.",
	"a..b",
	"a-b",
	"a b",
	"a:b",
	"é",
	"a\n",
	"__proto__",
	"x".repeat(257),
];

export function tagCases(test: PublicCase): void {
	test("tags given at creation are on reads, in lists and on the claim", async (scene) => {
		const tags = { team: "red", "order.id": "17", note: "" };
		const id = await scene.create({ tags });
		expect((await scene.get(id)).tags).toEqual(tags);
		expect((await scene.backend.executions.list()).executions[0]?.tags).toEqual(tags);
		expect((await scene.take()).tags).toEqual(tags);
	});

	test("work without tags has an empty set of them", async (scene) => {
		const id = await scene.create();
		expect((await scene.get(id)).tags).toEqual({});
		expect((await scene.take()).tags).toEqual({});
	});

	test("setting tags adds, replaces and removes, and gives all of them", async (scene) => {
		const id = await scene.create({ tags: { a: "1", b: "2", c: "3" } });
		const tags = { a: "1", b: "two", d: "4" };
		const answer = await scene.ff.setTags(id, { set: { b: "two", d: "4" }, remove: ["c", "absent"] });
		expect(answer).toEqual({ tags });
		expect((await scene.get(id)).tags).toEqual(tags);
	});

	test("tags can be set in every state, also after the end, and stay over a replay", async (scene) => {
		const delayed = await scene.create({ delayMs: 1000 });
		const { id: ended } = await scene.finished();
		const { id: active, fence } = await scene.start();
		const waiting = await scene.create();
		for (const id of [delayed, ended, active, waiting]) {
			const before = await scene.get(id);
			await scene.backend.executions.setTags(id, { set: { seen: "yes" } });
			expect(await scene.get(id)).toEqual({ ...before, tags: { seen: "yes" } });
		}
		await scene.backend.leases.complete(active, { fence });
		await scene.backend.executions.replay(ended);
		expect((await scene.get(ended)).tags).toEqual({ seen: "yes" });
	});

	test(
		"a change of tags is one event that tells the difference and who made it",
		async (scene) => {
			const id = await scene.create({ tags: { a: "1", b: "2" } });
			await scene.clock.advance(50);
			await scene.backend.executions.setTags(id, { set: { a: "1", c: "3" }, remove: ["b", "absent"] });
			const events = await scene.events(id);
			expect(events).toHaveLength(2);
			expect(events[1]).toEqual({
				seq: 2,
				at: scene.now,
				type: "tags_changed",
				executionId: id,
				namespace: "default",
				actor: "ops",
				set: { c: "3" },
				removed: ["b"],
			});
		},
		{ actor: "ops" },
	);

	test("setting what is there and removing what is not changes nothing and leaves no event", async (scene) => {
		const id = await scene.create({ tags: { a: "1" } });
		for (const request of [{ set: { a: "1" } }, { remove: ["b"] }, { set: {}, remove: [] }, {}]) {
			expect(await scene.backend.executions.setTags(id, request)).toEqual({ tags: { a: "1" } });
		}
		expect(await scene.eventTypes(id)).toEqual(["created"]);
	});

	test("all tags can be removed", async (scene) => {
		const id = await scene.create({ tags: { a: "1", b: "2" } });
		expect(await scene.backend.executions.setTags(id, { remove: ["a", "b", "a"] })).toEqual({ tags: {} });
		expect((await scene.get(id)).tags).toEqual({});
	});

	test("keys are words of lower-case letters, digits and _ joined by dots", async (scene) => {
		const tags = Object.fromEntries(goodKeys.map((key) => [key, "v"]));
		const id = await scene.create({ tags });
		expect((await scene.get(id)).tags).toEqual(tags);
		expect(await scene.backend.executions.setTags(id, { remove: goodKeys })).toEqual({ tags: {} });
	});

	test("a bad key is refused with a code of its own and named, and makes nothing", async (scene) => {
		const id = await scene.create();
		for (const key of badKeys) {
			const tags = JSON.parse(`{"fine": "1", ${JSON.stringify(key)}: "2"}`) as Record<string, string>;
			const refused = {
				tags: () => scene.create({ tags }),
				set: () => scene.backend.executions.setTags(id, { set: tags }),
				remove: () => scene.backend.executions.setTags(id, { remove: ["fine", key] }),
			};
			for (const [field, call] of Object.entries(refused)) {
				const error = await refusal(call());
				expect(error).toMatchObject({ code: "invalid_tag_key", status: 400, retryable: false, details: { field } });
				expect(error.details.key).toBe(key.slice(0, 256));
				expect(error.message).toContain(JSON.stringify(key.slice(0, 256)));
			}
		}
		expect(await scene.listed()).toEqual([id]);
		expect(await scene.eventTypes(id)).toEqual(["created"]);
	});

	test("one bad key in a batch spoils nothing but its item", async (scene) => {
		const items = await scene.backend.executions.createMany([
			{ kind: "job", tags: { Bad: "1" } },
			{ kind: "job", tags: { good: "1" } },
		]);
		expect(items).toMatchObject([{ ok: false, error: { code: "invalid_tag_key" } }, { ok: true }]);
	});

	test("values are strings of up to 256 characters", async (scene) => {
		const tags = { long: "x".repeat(256), foxes: "🦊".repeat(256), odd: '"\\\u0000\n', empty: "" };
		expect((await scene.get(await scene.create({ tags }))).tags).toEqual(tags);
		for (const value of ["x".repeat(257), 7, null, true, ["a"]]) {
			const error = await refusal(scene.create({ tags: { good: "1", bad: value } } as unknown as CreateRequest));
			expect(error).toMatchObject({ code: "invalid_input", details: { field: "tags.bad" } });
		}
	});

	test("an execution is created with 64 tags at most", async (scene) => {
		const id = await scene.create({ tags: many(64) });
		expect(Object.keys((await scene.get(id)).tags)).toHaveLength(64);
		const error = await refusal(scene.create({ tags: many(65) }));
		expect(error).toMatchObject({ code: "invalid_input", status: 400, details: { field: "tags" } });
	});

	test("an execution never comes to have more than 64 tags", async (scene) => {
		const id = await scene.create({ tags: many(64) });
		const error = await refusal(scene.backend.executions.setTags(id, { set: { one: "more" } }));
		expect(error).toMatchObject({ code: "too_many_tags", status: 409, details: { executionId: id, max: 64 } });
		expect((await scene.get(id)).tags).toEqual(many(64));
		await scene.backend.executions.setTags(id, { set: { t0: "other" } });
		const { tags } = await scene.backend.executions.setTags(id, { set: { one: "more" }, remove: ["t0"] });
		expect(Object.keys(tags)).toHaveLength(64);
	});

	test("work with as many and as long tags as it may have can be told everything else", async (scene) => {
		const { id, fence } = await scene.start({
			tags: many(64, () => "x".repeat(256)),
			input: '"'.repeat(2000),
			idempotencyKey: "k".repeat(256),
			policy: { retry: { retryableCategories: Array.from({ length: 32 }, (_, n) => `${n}${"c".repeat(60)}`) } },
		});
		await scene.backend.leases.progress(id, { fence, message: '"'.repeat(1024) });
		await scene.backend.executions.cancel(id, { reason: '"'.repeat(1024) });
		await scene.backend.leases.fail(id, { fence, reason: '"'.repeat(2048) });
		expect((await scene.get(id)).publicState).toBe("cancelled");
	});

	test("tags that would leave no room for anything else are refused", async (scene) => {
		const tags = many(64, () => "\u0001".repeat(256));
		const error = await refusal(scene.create({ tags }));
		expect(error).toMatchObject({ code: "invalid_input", details: { field: "tags" } });
		const id = await scene.create({ tags: many(63, () => "x".repeat(256)) });
		for (const [set, code] of [
			[tags, "invalid_input"],
			[many(15, () => "\u0001".repeat(256)), "too_many_tags"],
		] as const) {
			expect((await refusal(scene.backend.executions.setTags(id, { set }))).code).toBe(code);
		}
		expect(await scene.eventTypes(id)).toEqual(["created"]);
	});

	test("a key that is both set and removed is refused", async (scene) => {
		const id = await scene.create();
		const error = await refusal(scene.backend.executions.setTags(id, { set: { a: "1" }, remove: ["a"] }));
		expect(error).toMatchObject({ code: "invalid_input", details: { field: "remove", key: "a" } });
	});

	test("a tag is there only if it was set, whatever its key", async (scene) => {
		const id = await scene.create();
		expect(await scene.backend.executions.setTags(id, { remove: ["constructor", "valueof"] })).toEqual({ tags: {} });
		expect(await scene.eventTypes(id)).toEqual(["created"]);
		await scene.backend.executions.setTags(id, { set: { constructor: "mine" } });
		expect((await scene.get(id)).tags).toEqual({ constructor: "mine" });
	});

	test("tags are part of what an idempotency key stands for, whatever their order", async (scene) => {
		const id = await scene.create({ idempotencyKey: "k", tags: { a: "1", b: "2" } });
		expect(await scene.create({ idempotencyKey: "k", tags: { b: "2", a: "1" } })).toBe(id);
		for (const tags of [{ a: "1" }, { a: "1", b: "3" }, undefined]) {
			const call = scene.create({ idempotencyKey: "k", ...(tags ? { tags } : undefined) });
			expect((await refusal(call)).code).toBe("idempotency_conflict");
		}
		await scene.backend.executions.setTags(id, { remove: ["a"] });
		expect(await scene.create({ idempotencyKey: "k", tags: { a: "1", b: "2" } })).toBe(id);
	});

	test("what a caller does to its own objects later changes no tags", async (scene) => {
		const tags: Record<string, string> = { a: "1" };
		const id = await scene.create({ tags });
		tags.a = "changed";
		const held = await scene.take();
		held.tags.a = "changed";
		const set: Record<string, string> = { b: "2" };
		const answer = await scene.backend.executions.setTags(id, { set });
		set.b = "changed";
		answer.tags.b = "changed";
		await scene.backend.leases.complete(id, { fence: held.fence });
		expect((await scene.get(id)).tags).toEqual({ a: "1", b: "2" });
	});
}
