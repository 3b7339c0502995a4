import { expect } from "vitest";
import type { CreateRequest } from "../../../src/index.ts";
import { type PublicCase, refusal } from "../scene.ts";

const HUNDRED_YEARS = 100 * 365 * 86_400_000;
const text = (length: number): string => "x".repeat(length);
const policy = (fields: unknown): unknown => ({ kind: "job", policy: fields });
const backoff = (fields: unknown): unknown => policy({ retry: { backoff: fields } });

/** By what is wrong: the request, and the field its refusal names. */
const badCreates: Record<string, [request: unknown, field: string]> = {
	"no kind": [{}, "kind"],
	"an empty kind": [{ kind: "" }, "kind"],
	"a kind that is no string": [{ kind: 7 }, "kind"],
	"a kind of 257 characters": [{ kind: text(257) }, "kind"],
	"a kind with half a character": [{ kind: "a\ud800" }, "kind"],
	"a fairness key with half a character": [{ kind: "job", fairnessKey: "\udca9a" }, "fairnessKey"],
	"an unknown field": [{ kind: "job", prioritty: 1 }, "prioritty"],
	"an unknown field of the policy": [policy({ retries: 3 }), "policy.retries"],
	"an unknown field of the retry policy": [policy({ retry: { max: 3 } }), "policy.retry.max"],
	"an unknown field of the backoff": [
		backoff({ type: "fixed", delayMs: 1, jitter: true }),
		"policy.retry.backoff.jitter",
	],
	"an unknown field of the timeouts": [policy({ timeouts: { totalMs: 1 } }), "policy.timeouts.totalMs"],
	"an empty lane": [{ kind: "job", lane: "" }, "lane"],
	"a lane with a comma": [{ kind: "job", lane: "a,b" }, "lane"],
	"a lane with a letter beyond ASCII": [{ kind: "job", lane: "café" }, "lane"],
	"a lane with a line break": [{ kind: "job", lane: "a\nb" }, "lane"],
	"a lane of 65 characters": [{ kind: "job", lane: text(65) }, "lane"],
	"an empty namespace": [{ kind: "job", namespace: "" }, "namespace"],
	"a namespace with a space": [{ kind: "job", namespace: "a b" }, "namespace"],
	"a namespace with a colon": [{ kind: "job", namespace: "a:b" }, "namespace"],
	"a namespace with a line break at its end": [{ kind: "job", namespace: "a\n" }, "namespace"],
	"a namespace of 65 characters": [{ kind: "job", namespace: text(65) }, "namespace"],
	"a priority that is no number": [{ kind: "job", priority: "high" }, "priority"],
	"a priority with a fraction": [{ kind: "job", priority: 1.5 }, "priority"],
	"a priority that is NaN": [{ kind: "job", priority: Number.NaN }, "priority"],
	"a priority that is null": [{ kind: "job", priority: null }, "priority"],
	"a negative delay": [{ kind: "job", delayMs: -1 }, "delayMs"],
	"a delay with a fraction": [{ kind: "job", delayMs: 0.5 }, "delayMs"],
	"a delay of a hundred years": [{ kind: "job", delayMs: HUNDRED_YEARS }, "delayMs"],
	"an infinite delay": [{ kind: "job", delayMs: Number.POSITIVE_INFINITY }, "delayMs"],
	"a negative delayUntil": [{ kind: "job", delayUntil: -1 }, "delayUntil"],
	"a delayUntil as text": [{ kind: "job", delayUntil: "2030-01-01" }, "delayUntil"],
	"a delayUntil in a hundred years": [{ kind: "job", delayUntil: 1_700_000_000_000 + HUNDRED_YEARS }, "delayUntil"],
	"both delayMs and delayUntil": [{ kind: "job", delayMs: 1, delayUntil: 1 }, "delayUntil"],
	"a key of 257 characters": [{ kind: "job", idempotencyKey: text(257) }, "idempotencyKey"],
	"a key that is no string": [{ kind: "job", idempotencyKey: 5 }, "idempotencyKey"],
	"both input and inputBase64": [{ kind: "job", input: 1, inputBase64: "AAAA" }, "inputBase64"],
	"base64 that is not base64": [{ kind: "job", inputBase64: "not base64!" }, "inputBase64"],
	"base64 without its padding": [{ kind: "job", inputBase64: "AA" }, "inputBase64"],
	"base64 that is no string": [{ kind: "job", inputBase64: [1, 2] }, "inputBase64"],
	"a value under a type that is not JSON": [{ kind: "job", input: { a: 1 }, contentType: "image/png" }, "input"],
	"an empty contentType": [{ kind: "job", contentType: "" }, "contentType"],
	"a contentType with a line break": [{ kind: "job", contentType: "text/plain\r\nx: y" }, "contentType"],
	"an empty createdBy": [{ kind: "job", createdBy: "" }, "createdBy"],
	"a traceparent that is none": [{ kind: "job", traceparent: "abc" }, "traceparent"],
	"a policy that is no object": [policy("none"), "policy"],
	"a retry policy that is no object": [policy({ retry: 3 }), "policy.retry"],
	"negative maxRetries": [policy({ retry: { maxRetries: -1 } }), "policy.retry.maxRetries"],
	"maxRetries with a fraction": [policy({ retry: { maxRetries: 1.5 } }), "policy.retry.maxRetries"],
	"a backoff without a type": [backoff({ delayMs: 5 }), "policy.retry.backoff.type"],
	"a backoff of an unknown type": [backoff({ type: "linear" }), "policy.retry.backoff.type"],
	"a fixed backoff without delayMs": [backoff({ type: "fixed" }), "policy.retry.backoff.delayMs"],
	"a fixed backoff with a negative delay": [backoff({ type: "fixed", delayMs: -1 }), "policy.retry.backoff.delayMs"],
	"a fixed backoff of a hundred years": [
		backoff({ type: "fixed", delayMs: HUNDRED_YEARS }),
		"policy.retry.backoff.delayMs",
	],
	"an exponential backoff that shrinks": [
		backoff({ type: "exponential", multiplier: 0.5 }),
		"policy.retry.backoff.multiplier",
	],
	"an exponential backoff with an infinite multiplier": [
		backoff({ type: "exponential", multiplier: Number.POSITIVE_INFINITY }),
		"policy.retry.backoff.multiplier",
	],
	"an exponential backoff from 0": [backoff({ type: "exponential", initialMs: 0 }), "policy.retry.backoff.initialMs"],
	"a jitter that is no boolean": [backoff({ type: "exponential", jitter: 1 }), "policy.retry.backoff.jitter"],
	"categories that are no list": [
		policy({ retry: { retryableCategories: "net" } }),
		"policy.retry.retryableCategories",
	],
	"an empty category": [policy({ retry: { retryableCategories: ["a", ""] } }), "policy.retry.retryableCategories[1]"],
	"a category that is no string": [
		policy({ retry: { nonRetryableCategories: [1] } }),
		"policy.retry.nonRetryableCategories[0]",
	],
	"an attemptMs of 0": [policy({ timeouts: { attemptMs: 0 } }), "policy.timeouts.attemptMs"],
	"a negative queueMs": [policy({ timeouts: { queueMs: -5 } }), "policy.timeouts.queueMs"],
	"a deadlineMs of a hundred years": [
		policy({ timeouts: { deadlineMs: HUNDRED_YEARS } }),
		"policy.timeouts.deadlineMs",
	],
	"negative maxReclaims": [policy({ maxReclaims: -1 }), "policy.maxReclaims"],
	"maxReplays as text": [policy({ maxReplays: "3" }), "policy.maxReplays"],
	"a negative retentionMs": [policy({ retentionMs: -1 }), "policy.retentionMs"],
	"a dedupWindowMs of 0": [policy({ dedupWindowMs: 0 }), "policy.dedupWindowMs"],
};

export function badCreateCases(test: PublicCase): void {
	for (const [what, [request, field]] of Object.entries(badCreates)) {
		test(`a create with ${what} is refused by name and makes nothing`, async (scene) => {
			const there = await scene.create();
			const error = await refusal(scene.backend.executions.create(request as CreateRequest));
			expect(error).toMatchObject({ code: "invalid_input", status: 400, retryable: false, details: { field } });
			expect(error.message).toContain(field);
			expect(await scene.listed()).toEqual([there]);
			expect(await scene.listed("a")).toEqual([]);
		});
	}

	test("a create that is no object is refused and makes nothing", async (scene) => {
		for (const request of [undefined, null, "job", 7, []]) {
			const error = await refusal(scene.backend.executions.create(request as unknown as CreateRequest));
			expect(error).toMatchObject({ code: "invalid_input", status: 400 });
		}
		expect(await scene.listed()).toEqual([]);
	});

	test("a refusal says what is allowed and what came", async (scene) => {
		const error = await refusal(scene.backend.executions.create({ kind: "job", namespace: "a b" }));
		expect(error.message).toMatch(/^namespace: must be .*64.*got "a b"$/);
	});

	test("a refusal does not repeat a long or secret value", async (scene) => {
		const secret = "s3cret".repeat(100);
		const error = await refusal(scene.backend.executions.create({ kind: "job", idempotencyKey: secret }));
		expect(error.message).not.toContain("s3crets3cret");
	});

	test("input that is no data is refused by name and makes nothing", async (scene) => {
		const loop: Record<string, unknown> = {};
		loop.self = loop;
		for (const input of [() => 1, Symbol("x"), 10n, loop]) {
			const error = await refusal(scene.ff.submit("job", input));
			expect(error).toMatchObject({ code: "invalid_input", details: { field: "input" } });
		}
		expect(await scene.listed()).toEqual([]);
	});
}
