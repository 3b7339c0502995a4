import { expect } from "vitest";
import type { CreateRequest } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const HOUR = 3_600_000;

export function idempotencyCases(test: PublicCase): void {
	test("the same key and body give the first execution", async (scene) => {
		const request = { kind: "job", input: { n: 1 }, idempotencyKey: "k" };
		const first = await scene.backend.executions.create(request);
		const second = await scene.backend.executions.create(request);
		expect(first.created).toBe(true);
		expect(second).toEqual({ id: first.id, publicState: "waiting", created: false });
		expect(await scene.listed()).toEqual([first.id]);
	});

	test("a repeat tells the state the work has by now", async (scene) => {
		const request = { idempotencyKey: "k" };
		const { id } = await scene.finished(request);
		expect(await scene.backend.executions.create({ kind: "job", ...request })).toEqual({
			id,
			publicState: "completed",
			created: false,
		});
		expect(await scene.claim()).toEqual([]);
	});

	test("submit with a known key gives a run that was not created", async (scene) => {
		const first = await scene.ff.submit("job", 1, { idempotencyKey: "k" });
		const second = await scene.ff.submit("job", 1, { idempotencyKey: "k" });
		expect(second).toMatchObject({ id: first.id, created: false });
	});

	test("many submits of one key at once make one execution", async (scene) => {
		const request = { kind: "job", input: "x", idempotencyKey: "k" };
		const created = await Promise.all(Array.from({ length: 20 }, () => scene.backend.executions.create(request)));
		expect(new Set(created.map(({ id }) => id)).size).toBe(1);
		expect(created.filter((each) => each.created)).toHaveLength(1);
	});

	const differing: Record<string, [first: Partial<CreateRequest>, second: Partial<CreateRequest>]> = {
		kind: [{}, { kind: "other" }],
		lane: [{}, { lane: "other" }],
		priority: [{ priority: 1 }, { priority: 2 }],
		delayMs: [{}, { delayMs: 1000 }],
		delayUntil: [{ delayUntil: 1 }, { delayUntil: 2 }],
		contentType: [
			{ inputBase64: "AAAA", contentType: "image/png" },
			{ inputBase64: "AAAA", contentType: "image/gif" },
		],
		createdBy: [{ createdBy: "ada" }, { createdBy: "bob" }],
		"a policy field": [{ policy: { maxReplays: 1 } }, { policy: { maxReplays: 2 } }],
		"a deep policy field": [
			{ policy: { retry: { backoff: { type: "fixed", delayMs: 1 } } } },
			{ policy: { retry: { backoff: { type: "fixed", delayMs: 2 } } } },
		],
		"the input": [{ input: { a: 1 } }, { input: { a: 2 } }],
		"the type of the same bytes": [{ input: 7 }, { inputBase64: "Nw==" }],
		"a retry policy that is there": [{}, { policy: { retry: {} } }],
		"what is retried": [{ policy: { retry: {} } }, { policy: { retry: { retryableCategories: [] } } }],
		"the presence of input": [{}, { input: null }],
		"the bytes of input": [{ inputBase64: "AAAA" }, { inputBase64: "AAAB" }],
	};
	for (const [what, [first, second]] of Object.entries(differing)) {
		test(`the same key with a difference in ${what} is a conflict`, async (scene) => {
			const id = await scene.create({ ...first, idempotencyKey: "k" });
			await expectConflict(scene, { ...second, idempotencyKey: "k" });
			expect(await scene.listed()).toEqual([id]);
		});
	}

	test("the order of fields makes no difference", async (scene) => {
		const id = await scene.create({ idempotencyKey: "k", policy: { maxReplays: 1, maxReclaims: 2 }, priority: 1 });
		const again = await scene.create({ priority: 1, policy: { maxReclaims: 2, maxReplays: 1 }, idempotencyKey: "k" });
		expect(again).toBe(id);
	});

	const exponential = { type: "exponential", initialMs: 1000, maxMs: 60_000, multiplier: 2, jitter: true } as const;
	const same: Record<string, [first: Partial<CreateRequest>, second: Partial<CreateRequest>]> = {
		"a default lane or namespace": [{}, { lane: "default", namespace: "default" }],
		"a priority of 0": [{}, { priority: 0 }],
		"a priority that is clamped to 0": [{}, { priority: -5 }],
		"a priority beyond the highest": [{ priority: 9000 }, { priority: 10_000 }],
		"no tags": [{}, { tags: {} }],
		"no capabilities": [{}, { requiredCapabilities: [] }],
		"the order of capabilities": [
			{ requiredCapabilities: ["gpu", "eu"] },
			{ requiredCapabilities: ["eu", "gpu", "eu"] },
		],
		"a delay of 0": [{}, { delayMs: 0 }],
		"an empty policy": [{}, { policy: {} }],
		"empty timeouts": [{}, { policy: { timeouts: {} } }],
		"defaults in a policy": [{}, { policy: { maxReclaims: 100, maxReplays: 10, dedupWindowMs: 24 * HOUR } }],
		"defaults in a retry policy": [
			{ policy: { retry: {} } },
			{ policy: { retry: { maxRetries: 3, backoff: exponential, nonRetryableCategories: [] } } },
		],
		"defaults in a backoff": [
			{ policy: { retry: { backoff: { type: "exponential", maxMs: 5000 } } } },
			{ policy: { retry: { backoff: { ...exponential, maxMs: 5000 } } } },
		],
		"the type of JSON": [{ input: 1 }, { input: 1, contentType: "application/json" }],
		"the type of bytes": [{ inputBase64: "AAAA" }, { inputBase64: "AAAA", contentType: "application/octet-stream" }],
		"the way the same bytes came": [{ input: 7 }, { inputBase64: "Nw==", contentType: "application/json" }],
	};
	for (const [what, [first, second]] of Object.entries(same)) {
		test(`${what} makes no difference, given or not`, async (scene) => {
			const id = await scene.create({ ...first, idempotencyKey: "k" });
			expect(await scene.create({ ...second, idempotencyKey: "k" })).toBe(id);
			expect(await scene.create({ ...first, idempotencyKey: "k" })).toBe(id);
		});
	}

	test("the caller's own name as createdBy makes no difference, given or not", async (scene) => {
		const id = await scene.create({ idempotencyKey: "k" });
		const { createdBy } = await scene.get(id);
		expect(await scene.create({ idempotencyKey: "k", createdBy })).toBe(id);
	});

	test("the trace context is no part of the body", async (scene) => {
		const traceparent = (digit: string): string => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
		const id = await scene.create({ idempotencyKey: "k", traceparent: traceparent("1") });
		expect(await scene.create({ idempotencyKey: "k", traceparent: traceparent("2") })).toBe(id);
		expect(await scene.create({ idempotencyKey: "k" })).toBe(id);
	});

	test("a key holds across lanes", async (scene) => {
		await scene.create({ idempotencyKey: "k", lane: "a" });
		await expectConflict(scene, { idempotencyKey: "k", lane: "b" });
	});

	test("a key of one namespace means nothing in another", async (scene) => {
		const a = await scene.create({ idempotencyKey: "k", namespace: "a" });
		const b = await scene.create({ idempotencyKey: "k", namespace: "b", input: "different" });
		expect(b).not.toBe(a);
		expect(await scene.create({ idempotencyKey: "k", namespace: "a" })).toBe(a);
	});

	test("an empty key is no key", async (scene) => {
		expect(await scene.create({ idempotencyKey: "" })).not.toBe(await scene.create({ idempotencyKey: "" }));
	});

	test("keys that look alike are different keys", async (scene) => {
		const keys = ["k", "K", "k ", " k", "k:", "ｋ", "é", "e\u0301", "k\u0000", "k\u0000\u0000", "🦊", "x".repeat(256)];
		const ids = await Promise.all(keys.map((idempotencyKey) => scene.create({ idempotencyKey })));
		expect(new Set(ids).size).toBe(keys.length);
		for (const [n, idempotencyKey] of keys.entries()) expect(await scene.create({ idempotencyKey })).toBe(ids[n]);
	});

	test("a key is remembered for 24 hours", async (scene) => {
		const id = await scene.create({ idempotencyKey: "k", policy: { retentionMs: 0 } });
		await scene.clock.advance(24 * HOUR - 1);
		expect(await scene.create({ idempotencyKey: "k", policy: { retentionMs: 0 } })).toBe(id);
		await scene.clock.advance(1);
		expect(await scene.create({ idempotencyKey: "k", policy: { retentionMs: 0 } })).not.toBe(id);
		expect(await scene.get(id)).toMatchObject({ publicState: "waiting" });
	});

	test("dedupWindowMs shortens or lengthens how long a key is remembered", async (scene) => {
		const short = { idempotencyKey: "short", policy: { dedupWindowMs: 1000 } };
		const long = { idempotencyKey: "long", policy: { dedupWindowMs: 48 * HOUR } };
		const [shortId, longId] = [await scene.create(short), await scene.create(long)];
		await scene.clock.advance(999);
		expect(await scene.create(short)).toBe(shortId);
		await scene.clock.advance(1);
		expect(await scene.create(short)).not.toBe(shortId);
		await scene.clock.advance(47 * HOUR);
		expect(await scene.create(long)).toBe(longId);
	});

	test("a repeat does not lengthen the window", async (scene) => {
		const request = { idempotencyKey: "k", policy: { dedupWindowMs: 1000 } };
		const id = await scene.create(request);
		await scene.clock.advance(900);
		expect(await scene.create(request)).toBe(id);
		await scene.clock.advance(100);
		expect(await scene.create(request)).not.toBe(id);
	});

	test("after the window another body is no conflict", async (scene) => {
		const id = await scene.create({ idempotencyKey: "k", policy: { dedupWindowMs: 1000 } });
		await scene.clock.advance(1000);
		expect(await scene.create({ idempotencyKey: "k", input: "other" })).not.toBe(id);
	});

	test("deleting the execution frees its key", async (scene) => {
		const { id } = await scene.finished({ idempotencyKey: "k" });
		await scene.backend.executions.delete(id);
		const next = await scene.backend.executions.create({ kind: "job", idempotencyKey: "k", input: "other" });
		expect(next.created).toBe(true);
		expect(next.id).not.toBe(id);
	});

	test("trimming the execution frees its key", async (scene) => {
		const request = { idempotencyKey: "k", policy: { retentionMs: 1000 } };
		const { id } = await scene.finished(request);
		await scene.clock.advance(999);
		expect(await scene.create(request)).toBe(id);
		await scene.clock.advance(1);
		expect(await scene.create(request)).not.toBe(id);
	});

	test("deleting old work leaves a key that later work has taken", async (scene) => {
		const request = { idempotencyKey: "k", policy: { dedupWindowMs: 1000 } };
		const { id } = await scene.finished(request);
		await scene.clock.advance(1000);
		const later = await scene.create(request);
		await scene.backend.executions.delete(id);
		expect(await scene.create(request)).toBe(later);
	});

	test("a refused create does not use up its key", async (scene) => {
		await refusal(scene.create({ idempotencyKey: "k", priority: 1.5 }));
		expect((await scene.backend.executions.create({ kind: "job", idempotencyKey: "k" })).created).toBe(true);
	});
}

async function expectConflict(scene: Scene, request: Partial<CreateRequest>): Promise<void> {
	expect(await refusal(scene.create(request))).toMatchObject({
		code: "idempotency_conflict",
		status: 409,
		retryable: false,
	});
}
