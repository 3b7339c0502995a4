import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { slotOf } from "../../src/kernel/ids.ts";
import { inputBlobKey, resultBlobKey, stepBlobKey } from "../../src/kernel/payload.ts";
import { decode, encode, recordTypeOf, slotOfKey } from "../../src/kernel/record-types.ts";
import { claimRequestKey } from "../../src/kernel/records/claim-request.ts";
import { EVENT_LOG_KEY } from "../../src/kernel/records/event-log.ts";
import {
	amendExecution,
	type ExecutionRecord,
	executionDefaults,
	executionKey,
	makeExecution,
} from "../../src/kernel/records/execution.ts";
import { idempotencyKeyDefaults } from "../../src/kernel/records/idempotency-key.ts";
import { amend, decodeRecord, encodeRecord, makeRecord } from "../../src/kernel/records/record.ts";
import { stepKey } from "../../src/kernel/records/step.ts";
import { workerKey } from "../../src/kernel/records/worker.ts";

const id = `ex_${"0".repeat(32)}_7`;
const defaults = { a: 1, b: "", c: null as null | object, d: false };

describe("records", () => {
	it("have every field, and write only what differs from its default", () => {
		const record = makeRecord(defaults, { a: 1, b: "x" });
		expect([record.a, record.b, record.c, record.d]).toEqual([1, "x", null, false]);
		expect(encodeRecord(defaults, record)).toBe('{"b":"x"}');
	});

	it("come back from their document as they were", () => {
		const value = fc.record({
			a: fc.integer(),
			b: fc.string(),
			c: fc.constantFrom(null, { deep: [1] }),
			d: fc.boolean(),
		});
		fc.assert(
			fc.property(value, (fields) => {
				const back = decodeRecord(defaults, encodeRecord(defaults, makeRecord(defaults, fields)));
				expect({ a: back.a, b: back.b, c: back.c, d: back.d }).toEqual(fields);
			}),
		);
	});

	it("keep fields of a later version over a rewrite by this one", () => {
		const doc = '{"b":"x","later":{"deep":[1,2]},"flag":true}';
		const record = decodeRecord(defaults, doc);
		const rewritten = JSON.parse(encodeRecord(defaults, amend(record, { a: 2 })));
		expect(rewritten).toEqual({ a: 2, b: "x", later: { deep: [1, 2] }, flag: true });
	});

	it("are never changed by amending them", () => {
		const record = makeRecord(defaults, { b: "x" });
		const next = amend(record, { b: "y", a: 5 });
		expect([record.a, record.b, next.a, next.b]).toEqual([1, "x", 5, "y"]);
		expect(encodeRecord(defaults, record)).toBe('{"b":"x"}');
	});

	it("drop a field that is set back to its default", () => {
		expect(encodeRecord(defaults, amend(makeRecord(defaults, { b: "x", a: 9 }), { b: "" }))).toBe('{"a":9}');
	});

	it("of another shape are refused", () => {
		for (const doc of ["", "nonsense", "null", "[]", "7", '"text"', '{"a":']) {
			expect(() => decodeRecord(defaults, doc)).toThrow();
		}
	});
});

describe("record types", () => {
	it("are told by the key", () => {
		expect(recordTypeOf(executionKey(id))).toBe("execution");
		expect(recordTypeOf(`${id}/a3`)).toBe("attempt");
		expect(recordTypeOf("key:n:k/with/slashes")).toBe("idempotencyKey");
		expect(recordTypeOf("lane:n:ex_lane")).toBe("lane");
		expect(recordTypeOf(workerKey("n", "i:1"))).toBe("worker");
		expect(recordTypeOf(claimRequestKey("n", "i:1", "r/2"))).toBe("claimRequest");
		expect(recordTypeOf(EVENT_LOG_KEY)).toBe("eventLog");
		expect(recordTypeOf("webhook:n:b")).toBeUndefined();
	});

	it("of a namespace's workers share its slot, whatever their instances are called", () => {
		expect(slotOfKey(workerKey("n", "i:1"))).toBe(slotOf("n"));
		expect(slotOfKey(workerKey("n", "another"))).toBe(slotOf("n"));
		expect([slotOfKey(claimRequestKey("n", "i", "r")), slotOfKey(EVENT_LOG_KEY)]).toEqual([undefined, undefined]);
	});

	it("parts of an execution, and its bytes, live where it does", () => {
		for (const key of [
			inputBlobKey(id),
			resultBlobKey(id, 3),
			stepBlobKey(id, 3, "a/b", 0),
			stepKey(id, 0, "a/b_9", 0),
		]) {
			expect(slotOfKey(key)).toBe(7);
		}
	});

	it("fill in the defaults of their kind", () => {
		expect(decode(id, "{}")).toMatchObject({ lifecyclePhase: executionDefaults.lifecyclePhase, retries: 0 });
		expect(decode("key:n:k", "{}")).toMatchObject(idempotencyKeyDefaults);
	});

	it("a program does not know keep all they hold", () => {
		expect(encode("webhook:n:b", decode("webhook:n:b", '{"hard":5}'))).toBe('{"hard":5}');
	});

	it("an execution's document is small: nothing but what sets it apart", () => {
		const record = makeExecution({ id, kind: "job", createdAt: 1, createdBy: "me" });
		expect(Object.keys(JSON.parse(encode(id, record))).sort()).toEqual(["createdAt", "createdBy", "events", "kind"]);
	});
});

describe("an amended execution", () => {
	it("has every field of the one before, and the changes; the one before is as it was", () => {
		const names = Object.keys(executionDefaults);
		const before = Object.fromEntries(names.map((name) => [name, `of ${name}`])) as unknown as ExecutionRecord;
		const after = amendExecution(before, { epoch: 7 });
		expect(after).toEqual({ ...before, epoch: 7 });
		expect(Object.keys(after)).toEqual(names);
		expect(before.epoch).toBe("of epoch");
	});
});
