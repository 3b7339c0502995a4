import { expect, test } from "vitest";
import { type Json, mergePatch } from "../../src/kernel/streams/merge-patch.ts";
import { RFC_CASES } from "../conformance/rfc-7396.ts";

test.each(RFC_CASES)("%j with %j becomes %j", (original, patch, result) => {
	const before = structuredClone(original);
	expect(mergePatch(original as Json, patch as Json)).toEqual(result);
	expect(original, "what was there is not touched").toEqual(before);
});

test("what was never there is taken for an empty object", () => {
	expect(mergePatch(undefined, { a: null, b: { c: null } })).toEqual({ b: {} });
	expect(mergePatch(undefined, [1])).toEqual([1]);
});
