import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { migrate } from "../../src/kernel/format.ts";
import { faultOf } from "../../src/kernel/inspect.ts";
import { encode } from "../../src/kernel/record-types.ts";
import { makeExecution } from "../../src/kernel/records/execution.ts";

const id = `ex_${"1".repeat(32)}_7`;
const stored = (fields: object) =>
	JSON.stringify({ ...JSON.parse(encode(id, makeExecution({ id, kind: "job", createdAt: 5 }))), ...fields });

test("a record in order has no fault, even with fields of a later version", () => {
	expect(faultOf(id, stored({}))).toBeUndefined();
	expect(faultOf(id, stored({ invented: true }))).toBeUndefined();
	expect(faultOf("invented:key", "{}")).toBeUndefined();
});

test.each([
	[{ priority: "high" }, "priority", "must be a number, is a string"],
	[{ policy: null }, "policy", "must be an object, is null"],
	[{ lease: 7 }, "lease", "must be null, an object or a list, is a number"],
	[{ id: `ex_${"2".repeat(32)}_7` }, "id", "is not that of its key"],
	[{ state: "900000" }, "lifecyclePhase", '"9" is not known'],
	[{ lifecyclePhase: "asleep" }, "lifecyclePhase", '"asleep" is not known'],
	[{ lifecyclePhase: "terminal", terminalOutcome: "lost" }, "terminalOutcome", '"lost" is not known'],
])("%j is told by its field", (fields, field, problem) => {
	expect(faultOf(id, stored(fields))).toEqual({ field, problem });
});

test("a document that is none", () => {
	expect(faultOf(id, "{")).toEqual({ field: "", problem: "is not a JSON object" });
	expect(faultOf(id, "[]")).toEqual({ field: "", problem: "is not a JSON object" });
});

const suspension = `${id}/u1`;
const page = [{ key: "a", executionId: id }, {}];
test.each([
	[
		id,
		{ suspension: { number: 1, id: "su", since: 5, timeoutAt: "x" } },
		"suspension.timeoutAt",
		"a number, is a string",
	],
	[id, { member: {} }, "member.key", "a string, is nothing"],
	[id, { member: [] }, "member", "an object, is a list"],
	[id, { lease: { id: "le", ttlMs: 1, acquiredAt: 5, expiresAt: "x" } }, "lease.expiresAt", "a number, is a string"],
	[id, { grant: {} }, "grant.id", "a string, is nothing"],
	[id, { attempt: { index: 0 } }, "attempt.type", "a string, is nothing"],
	[id, { budgets: [5] }, "budgets.0", "a string, is a number"],
	[id, { tags: { a: 5 } }, "tags.a", "a string, is a number"],
	[id, { policy: { retry: { backoff: null } } }, "policy.retry.backoff", "an object, is null"],
	[id, { reserve: { team: { tokens: "x" } } }, "reserve.team.tokens", "a number, is a string"],
	[id, { kept: [null] }, "kept.0", "an object, is null"],
	["quota:default,q", { window: [null] }, "window.0", "a list, is null"],
	["quota:default,q", { window: [[5, 1], [6]] }, "window.1.1", "a number, is nothing"],
	["budget:default,b", { dimensions: { tokens: 5 } }, "dimensions.tokens", "an object, is a number"],
	["fl_1_7/m0", { members: [5] }, "members.0", "an object, is a number"],
	["fl_1_7/m0", { members: page }, "members.1.key", "a string, is nothing"],
	[`${id}/m0.0`, { children: [{}] }, "children.0.key", "a string, is nothing"],
	[`${id}/g0`, { wait: { number: 1, mode: "all", upTo: 2, among: 5 } }, "wait.among", "a string, is a number"],
	[`${id}/e0`, { out: [null] }, "out.0", "an object, is null"],
	[`${id}/s1`, { payload: { size: 2, text: 5 } }, "payload.text", "a string, is a number"],
	[`${id}/p0.0.a`, { result: { size: "x" } }, "result.size", "a number, is a string"],
	[suspension, { condition: { allOf: [{ signal: "a" }, 5] } }, "condition.allOf.1", "an object, is a number"],
	[suspension, { condition: { anyOf: [{ count: { n: "x" } }] } }, "condition.anyOf.0.count.n", "a number, is a string"],
	[
		`${id}/h0`,
		{ durable: { total: 1, kept: 1, groups: ["x", 0, 0, 0] } },
		"durable.groups.0.from",
		"a number, is a string",
	],
	["worker:default:w", { lanes: [5] }, "lanes.0", "a string, is a number"],
	["engines", { engines: { e: 5 } }, "engines.e", "an object, is a number"],
])("what is wrong inside a part of %s is told by its path: %j", (key, fields, field, problem) => {
	const doc = key === id ? stored(fields) : JSON.stringify(fields);
	expect(faultOf(key, doc)).toEqual({ field, problem: `must be ${problem}` });
});

test("a number too large for any is none", () => {
	expect(faultOf(id, stored({}).replace('"createdAt":5', '"createdAt":1e999'))).toEqual({
		field: "createdAt",
		problem: "must be a number, is no finite number",
	});
});

test("a condition however deep is told of, not gone into without end", () => {
	const deep = `${'{"allOf":['.repeat(50_000)}{"signal":"a"}${"]}".repeat(50_000)}`;
	expect(faultOf(suspension, `{"condition":${deep}}`)?.field).toMatch(/^condition\.allOf\.0\./);
});

test("what earlier formats wrote is in order", async () => {
	const folder = new URL("../conformance/samples/", import.meta.url);
	let looked = 0;
	for (const name of await readdir(folder)) {
		let from = 0;
		for (const text of (await readFile(new URL(name, folder), "utf8")).split("\n").filter(Boolean)) {
			const line = JSON.parse(text) as { format?: number; record?: string; doc?: string };
			from = line.format ?? from;
			if (line.record === undefined || line.doc === undefined) continue;
			expect([line.record, faultOf(line.record, migrate(from, line.record, line.doc))]).toEqual([
				line.record,
				undefined,
			]);
			looked += 1;
		}
	}
	expect(looked).toBeGreaterThan(50);
});
