import { expect, test } from "vitest";
import { type Json, mergePatches } from "../../src/kernel/streams/merge-patch.ts";
import { RFC_CASES } from "../conformance/rfc-7396.ts";

test.each(RFC_CASES)("%j with %j becomes %j", (original, patch, result) => {
	const before = structuredClone(original);
	expect(mergePatches(original as Json, [patch as Json])).toEqual(result);
	expect(original, "what was there is not touched").toEqual(before);
});

test("what was never there is taken for an empty object", () => {
	expect(mergePatches(null, [{ a: null, b: { c: null } }])).toEqual({ b: {} });
	expect(mergePatches(null, [[1]])).toEqual([1]);
});

test("many patches come to what they come to one by one, and change none of what was given", () => {
	const patches: Json[] = [
		{ a: { b: 1 } },
		{ a: { c: { d: [1] } } },
		{ a: { b: null, c: { e: 2 } } },
		{ x: "text" },
		{ x: { y: 1 }, a: 7 },
		{ a: { z: null } },
	];
	const given = structuredClone(patches);
	const oneByOne = patches.reduce((document, patch) => mergePatches(document, [patch]), { k: { l: 1 } } as Json);
	expect(mergePatches({ k: { l: 1 } }, patches)).toEqual(oneByOne);
	expect(oneByOne).toEqual({ k: { l: 1 }, a: {}, x: { y: 1 } });
	expect(patches).toEqual(given);
});

test("a thousand patches go through a large document once", () => {
	let times = 0;
	const document = new Proxy(Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`k${n}`, n])), {
		ownKeys(target) {
			times += 1;
			return Reflect.ownKeys(target);
		},
	});
	const patches = Array.from({ length: 1000 }, (_, n) => ({ [`k${n}`]: -n }));
	expect(mergePatches(document, patches)).toMatchObject({ k1: -1, k999: -999 });
	expect(times).toBe(1);
});
