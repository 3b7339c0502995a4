/** The test cases of RFC 7396, appendix A, in its order. */
export const RFC_CASES: readonly [original: unknown, patch: unknown, result: unknown][] = [
	[{ a: "b" }, { a: "c" }, { a: "c" }],
	[{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
	[{ a: "b" }, { a: null }, {}],
	[{ a: "b", b: "c" }, { a: null }, { b: "c" }],
	[{ a: ["b"] }, { a: "c" }, { a: "c" }],
	[{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
	[{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
	[{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
	[
		["a", "b"],
		["c", "d"],
		["c", "d"],
	],
	[{ a: "b" }, ["c"], ["c"]],
	[{ a: "foo" }, null, null],
	[{ a: "foo" }, "bar", "bar"],
	[{ e: null }, { a: 1 }, { e: null, a: 1 }],
	[[1, 2], { a: "b", c: null }, { a: "b" }],
	[{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];
