import { beforeEach, describe, expect, it } from "vitest";
import { FlowFabricError } from "../../src/contract/errors.ts";
import { type Fault, FaultLog, faultLine } from "../../src/engine/fault-log.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const SWEEP = "the sweep failed and will be repeated";
const SKIPPED = "partitions that cannot be read are skipped";

describe("faults", () => {
	let clock: VirtualClock;
	let told: Fault[];
	let counted: number;
	let log: FaultLog;
	beforeEach(() => {
		clock = new VirtualClock();
		told = [];
		counted = 0;
		log = new FaultLog({ clock, count: () => void (counted += 1), tell: (fault) => told.push(fault) });
	});

	it("of one class make a line at once and then one a minute, with how often and what they befell", async () => {
		for (let n = 0; n < 300; n++) {
			log.report(SKIPPED, new Error(`of ${n}`), [`partition ${n % 3}`]);
			await clock.advance(500);
		}
		expect(told.map(({ about, count }) => [about, count])).toEqual([
			[SKIPPED, 1],
			[SKIPPED, 119],
			[SKIPPED, 120],
		]);
		expect(told[1]).toMatchObject({ subjects: ["partition 0", "partition 1", "partition 2"] });
		expect(told[1]?.error).toMatchObject({ message: "of 119" });
		expect(counted).toBe(300);
	});

	it("of different classes are told apart", () => {
		log.report(SKIPPED);
		log.report(SWEEP);
		expect(told.map(({ about }) => about)).toEqual([SKIPPED, SWEEP]);
	});

	it("that came again and again are told to be over after a minute without; one by itself is not", async () => {
		log.report(SWEEP);
		log.report(SKIPPED);
		log.report(SKIPPED);
		await clock.advance(180_000);
		expect(told.map(faultLine)).toEqual([SWEEP, SKIPPED, SKIPPED, `${SKIPPED}: not any more`]);
		log.report(SKIPPED);
		expect(told).toHaveLength(5);
	});

	it("that were not told of yet are when the log closes", () => {
		for (let n = 0; n < 3; n++) log.report(SKIPPED, undefined, ["partition 7"]);
		log.close();
		expect(told.map(({ count }) => count)).toEqual([1, 2]);
	});

	it("read as one line: what, how often, where, and why in the words of all causes, each once", () => {
		const cause = new Error("not connected to 10.0.0.1:6379", { cause: new Error("ECONNREFUSED") });
		const error = new FlowFabricError("store_unavailable", { cause });
		expect(faultLine({ about: SKIPPED, error, count: 8, subjects: ["partition 1"] })).toBe(
			`${SKIPPED} (8 times) [partition 1]: the store did not answer, or cannot accept changes now: not connected to 10.0.0.1:6379: ECONNREFUSED`,
		);
	});
});
