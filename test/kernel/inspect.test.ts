import { expect, test } from "vitest";
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
