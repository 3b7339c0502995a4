import { describe, expect, it, test } from "vitest";
import {
	fnv1a,
	MAX_PARTITIONS_PER_SCAN,
	PartitionScan,
	ROTATION_WINDOW_MS,
} from "../../src/engine/claims/partition-scan.ts";

const INSTANCES = ["", "i", "worker-1", "worker-2", "0197f3b2c5d87e6fa1b2c3d4e5f60718", "größe"];

describe.each([1, 8, 31, 32, 33, 100, 256])("over %i partitions", (partitions) => {
	const windows = Math.ceil(partitions / MAX_PARTITIONS_PER_SCAN);

	test(`an instance comes to every one within ${windows} windows, wherever the cursor stands`, () => {
		for (const instance of INSTANCES) {
			for (let cursor = 0; cursor < partitions; cursor++) {
				const scan = new PartitionScan(partitions, cursor);
				const seen = new Set<number>();
				for (let turn = 0; turn < windows; turn++) {
					scan.turn(turn * ROTATION_WINDOW_MS);
					for (const partition of scan.window(instance)) seen.add(partition);
				}
				expect(seen.size).toBe(partitions);
			}
		}
	});

	test("a window holds each partition once and no more than may be probed", () => {
		const window = new PartitionScan(partitions).window("i");
		expect(window).toHaveLength(Math.min(partitions, MAX_PARTITIONS_PER_SCAN));
		expect(new Set(window).size).toBe(window.length);
		for (const partition of window) expect(partition).toBeLessThan(partitions);
	});

	test("of partitions said to have work, an instance probes those of its window first", () => {
		const scan = new PartitionScan(partitions);
		const all = Array.from({ length: partitions }, (_, n) => n);
		expect(new Set(scan.nearest("i", all))).toEqual(new Set(scan.window("i")));
		expect(scan.nearest("i", [partitions - 1])).toEqual([partitions - 1]);
	});
});

it("starts at the FNV-1a of the instance", () => {
	// The reference values of the function's authors.
	expect([fnv1a(""), fnv1a("a"), fnv1a("foobar")]).toEqual([0x811c9dc5, 0xe40c292c, 0xbf9cf968]);
	expect(new PartitionScan(256).window("foobar")[0]).toBe(0xbf9cf968 % 256);
});

it("moves on once per window of time, for all instances, however many claims are made", () => {
	const scan = new PartitionScan(256);
	const starts = (now: number) => {
		scan.turn(now);
		return ["a", "b"].map((instance) => scan.window(instance)[0] as number);
	};
	const [a, b] = starts(1000) as [number, number];
	expect(starts(1001)).toEqual([a, b]);
	expect(starts(1000 + ROTATION_WINDOW_MS - 1)).toEqual([a, b]);
	expect(starts(1000 + ROTATION_WINDOW_MS)).toEqual([(a + 32) % 256, (b + 32) % 256]);
	// A long silence is one step, not many: nothing was probed meanwhile.
	expect(starts(1_000_000)).toEqual([(a + 64) % 256, (b + 64) % 256]);
});
