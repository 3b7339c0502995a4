import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonTexts } from "../../src/server/written-json.ts";

test("what is written in parts is what JSON.stringify writes", () => {
	const large = fc.array(fc.jsonValue(), { minLength: 0, maxLength: 400 });
	const value = fc.dictionary(
		fc.oneof(fc.string(), fc.nat().map(String), fc.constant("__proto__")),
		fc.oneof(fc.jsonValue(), large, fc.constant(undefined), fc.string({ minLength: 4000, maxLength: 9000 })),
		{ maxKeys: 30 },
	);
	fc.assert(
		fc.property(fc.oneof(value, fc.array(value, { maxLength: 30 })), (given) => {
			expect([...jsonTexts(given)].join("")).toBe(JSON.stringify(given));
		}),
		{ numRuns: 200 },
	);
});

test("no part of a large value is large, but for a text", () => {
	const pairs = Array.from({ length: 100_000 }, () => []);
	const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`k${n}`, n]));
	const given = { executions: [{ input: pairs }, { input: keys, children: [{ result: pairs }] }] };
	const parts = [...jsonTexts(given)];
	expect(parts.join("")).toBe(JSON.stringify(given));
	expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(16 * 1024);
});
