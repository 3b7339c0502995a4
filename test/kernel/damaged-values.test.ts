import { expect, test } from "vitest";
import { describeBlocking } from "../../src/kernel/reading.ts";
import { makeExecution } from "../../src/kernel/records/execution.ts";
import { laneDefaults } from "../../src/kernel/records/lane.ts";
import { decodeChunk } from "../../src/kernel/streams/chunks.ts";

test("a time that no calendar has is shown as the number it is", () => {
	const delayed = { eligibilityState: "not_eligible_until_time", blockingReason: "waiting_for_delay" } as const;
	const described = (delayUntil: number) => describeBlocking(makeExecution({ ...delayed, delayUntil }), laneDefaults);
	expect(described(1_700_000_000_000)).toContain("2023-11-14T22:13:20.000Z");
	expect(described(1e300)).toContain("1e+300");
});

test.each(["5", "null", "{}", '{"x":5}', "[]"])("a chunk with %s in place of a frame cannot be read", (frame) => {
	const chunk = (second: string) => `{"at":1,"epoch":1,"n":0,"f":[0,{"x":"a"},1,${second}]}`;
	expect(decodeChunk(chunk('{"x":"b"}'), 7, "durable")).toHaveLength(2);
	expect(() => decodeChunk(chunk(frame), 7, "durable")).toThrow("frame 1 of a chunk is none");
});
