import { expect } from "vitest";
import { RFC_CASES } from "../rfc-7396.ts";
import { type Held, type PublicCase, refusal, type Scene } from "../scene.ts";
import { append, framesOf } from "../streamed.ts";

/** The example of its third section. */
const ARTICLE = {
	title: "Goodbye!",
	author: { givenName: "John", familyName: "Doe" },
	tags: ["example", "sample"],
	content: "This will be unchanged",
};
const ARTICLE_PATCH = {
	title: "Hello!",
	phoneNumber: "+01-123-456-7890",
	author: { familyName: null },
	tags: ["example"],
};
const ARTICLE_AFTER = {
	title: "Hello!",
	author: { givenName: "John" },
	tags: ["example"],
	content: "This will be unchanged",
	phoneNumber: "+01-123-456-7890",
};

const patch = (scene: Scene, held: Held, ...patches: unknown[]) =>
	append(scene, held, ...patches.map((each) => ({ mode: "summary" as const, patch: each })));

const summaryOf = (scene: Scene, { id, attempt }: Held) => scene.backend.streams.summary(id, attempt.index);

export function streamSummaryCases(test: PublicCase): void {
	for (const [original, change, result] of RFC_CASES) {
		// No patch leaves a null in an object, so no document begins with one.
		if (JSON.stringify(original).includes("null")) continue;
		test(`${JSON.stringify(original)} with ${JSON.stringify(change)} becomes ${JSON.stringify(result)}`, async (scene) => {
			const held = await scene.start();
			await patch(scene, held, original);
			expect((await summaryOf(scene, held)).document).toEqual(original);
			await patch(scene, held, change);
			expect((await summaryOf(scene, held)).document).toEqual(result);
		});
	}

	test("the article of the RFC is patched as it says", async (scene) => {
		const held = await scene.start();
		await patch(scene, held, ARTICLE);
		await patch(scene, held, ARTICLE_PATCH);
		expect((await summaryOf(scene, held)).document).toEqual(ARTICLE_AFTER);
	});

	test("a stream without patches has no document, and version 0", async (scene) => {
		const held = await scene.start();
		expect(await summaryOf(scene, held)).toEqual({ document: null, version: 0, updatedAt: 0 });
		await append(scene, held, "text");
		expect(await summaryOf(scene, held)).toEqual({ document: null, version: 0, updatedAt: 0 });
	});

	test("the first patch makes the document: nulls in it name nothing", async (scene) => {
		const held = await scene.start();
		await patch(scene, held, { a: 1, b: null, c: { d: null } });
		expect((await summaryOf(scene, held)).document).toEqual({ a: 1, c: {} });
	});

	test("an empty patch leaves an object alone, and is a version all the same", async (scene) => {
		const held = await scene.start();
		await patch(scene, held, { a: [1, { b: null }] });
		await patch(scene, held, {});
		expect(await summaryOf(scene, held)).toMatchObject({ document: { a: [1, { b: null }] }, version: 2 });
	});

	test("an empty patch makes an object of what is none", async (scene) => {
		const held = await scene.start();
		await patch(scene, held, [1, 2]);
		await patch(scene, held, {});
		expect((await summaryOf(scene, held)).document).toEqual({});
	});

	test("arrays are replaced whole, and nulls in them stay", async (scene) => {
		const held = await scene.start();
		await patch(scene, held, { list: [1, 2, 3] });
		await patch(scene, held, { list: [null, { a: null }, []] });
		expect((await summaryOf(scene, held)).document).toEqual({ list: [null, { a: null }, []] });
	});

	test("names that mean something elsewhere are names like others", async (scene) => {
		const held = await scene.start();
		await patch(scene, held, JSON.parse('{"__proto__": {"a": 1}, "constructor": 2, "": {"toString": 3}}'));
		await patch(scene, held, JSON.parse('{"__proto__": {"b": 2}, "": null}'));
		const { document } = await summaryOf(scene, held);
		expect(JSON.stringify(document)).toBe('{"__proto__":{"a":1,"b":2},"constructor":2}');
	});

	test("every patch is a version, and the document tells when it last changed", async (scene) => {
		const held = await scene.start();
		expect(await patch(scene, held, { a: 1 }, { b: 2 })).toMatchObject({ summaryVersion: 2 });
		await scene.clock.advance(100);
		expect(await patch(scene, held, { a: null })).toMatchObject({ summaryVersion: 3 });
		const updatedAt = scene.now;
		await scene.clock.advance(100);
		expect(await append(scene, held, "text")).toMatchObject({ summaryVersion: 3 });
		expect(await summaryOf(scene, held)).toEqual({ document: { b: 2 }, version: 3, updatedAt });
	});

	test("patches are frames too: whoever follows can make the document itself", async (scene) => {
		const held = await scene.start();
		await append(scene, held, "a", { mode: "summary", patch: { n: 1 }, type: "state" }, "b");
		await patch(scene, held, [null]);
		expect((await framesOf(scene, held.id)).map(({ type, mode, patch: given }) => [type, mode, given])).toEqual([
			["text", "durable", undefined],
			["state", "summary", { n: 1 }],
			["text", "durable", undefined],
			["patch", "summary", [null]],
		]);
	});

	test("a patch that is sent again under its number is applied once", async (scene) => {
		const held = await scene.start();
		const frame = { mode: "summary" as const, patch: { a: 1 }, seq: 1 };
		await append(scene, held, frame);
		await patch(scene, held, { a: null });
		expect(await append(scene, held, frame)).toMatchObject({ summaryVersion: 2 });
		expect(await summaryOf(scene, held)).toMatchObject({ document: {}, version: 2 });
	});

	test("a patch is kept as it was given, whatever its giver makes of it later", async (scene) => {
		const held = await scene.start();
		const patch = { sources: ["a"] };
		const appending = append(scene, held, { mode: "summary", patch });
		patch.sources.push("b");
		await appending;
		await append(scene, held, { mode: "summary", patch: { done: true } });
		const { document } = await scene.backend.streams.summary(held.id, 0);
		expect(document).toEqual({ sources: ["a"], done: true });
	});

	test("patches of several calls at once are all applied", async (scene) => {
		const held = await scene.start();
		await Promise.all(Array.from({ length: 30 }, (_, n) => patch(scene, held, { [`k${n}`]: n })));
		const { document, version } = await summaryOf(scene, held);
		expect([version, Object.keys(document as object).length]).toEqual([30, 30]);
	});

	test("each attempt has a document of its own, which stays when it is over", async (scene) => {
		const policy = { retry: { maxRetries: 1, backoff: { type: "fixed" as const, delayMs: 0 } } };
		const first = await scene.start({ policy });
		await patch(scene, first, { from: "first" });
		await scene.backend.leases.fail(first.id, { fence: first.fence, reason: "broken" });
		await scene.clock.advance(1);
		const second = await scene.take();
		expect(await summaryOf(scene, second)).toMatchObject({ document: null, version: 0 });
		await patch(scene, second, { from: "second" });
		await scene.backend.leases.complete(second.id, { fence: second.fence });
		expect((await summaryOf(scene, first)).document).toEqual({ from: "first" });
		expect((await summaryOf(scene, second)).document).toEqual({ from: "second" });
		expect((await refusal(scene.backend.streams.summary(first.id, 2))).code).toBe("attempt_not_found");
	});

	test("a document that grows too long is refused by name, and stays as it was", async (scene) => {
		const held = await scene.start();
		await patch(scene, held, { a: "x".repeat(40_000) });
		expect(
			await refusal(append(scene, held, "b", { mode: "summary", patch: { b: "x".repeat(40_000) } })),
		).toMatchObject({
			code: "summary_too_large",
			status: 409,
			details: { limit: 61_440 },
		});
		expect(await summaryOf(scene, held)).toMatchObject({ document: { a: "x".repeat(40_000) }, version: 1 });
		expect(await framesOf(scene, held.id)).toHaveLength(1);
		await patch(scene, held, { a: null, b: '"'.repeat(20_000) });
		expect((await summaryOf(scene, held)).document).toEqual({ b: '"'.repeat(20_000) });
	});
}
