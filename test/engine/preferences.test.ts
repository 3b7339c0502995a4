import { describe, expect, it, test } from "vitest";
import { EVERY_LANE, Preferences, shareOut } from "../../src/engine/fleet/preferences.ts";

const named = (count: number, run = 0): string[] => Array.from({ length: count }, (_, n) => `engine ${run}-${n}`);
const countOf = (owners: readonly string[], engine: string): number =>
	owners.filter((owner) => owner === engine).length;

describe.each([
	[1, 1],
	[2, 8],
	[3, 8],
	[8, 8],
	[3, 100],
	[5, 256],
	[10, 256],
])("%i engines and %i partitions", (engines, partitions) => {
	const most = Math.ceil(partitions / engines);

	test("every partition has one engine, and no engine more than its part", () => {
		for (let run = 0; run < 20; run++) {
			const owners = shareOut(named(engines, run), partitions);
			expect(owners).toHaveLength(partitions);
			for (const engine of named(engines, run)) {
				expect(countOf(owners, engine)).toBeLessThanOrEqual(most);
				expect(countOf(owners, engine)).toBeGreaterThanOrEqual(Math.floor((partitions / engines) * 0.7));
			}
		}
	});

	test("when one leaves, little changes hands but what was its own", () => {
		let needless = 0;
		for (let run = 0; run < 20; run++) {
			const [gone, ...left] = named(engines, run);
			if (left.length === 0) return;
			const before = shareOut([gone as string, ...left], partitions);
			const after = shareOut(left, partitions);
			needless += before.filter((owner, partition) => owner !== gone && owner !== after[partition]).length;
		}
		expect(needless / 20).toBeLessThanOrEqual(2.5 + partitions / engines / 2);
	});
});

it("more engines than partitions leave some without", () => {
	const owners = shareOut(named(5), 2);
	expect(new Set(owners).size).toBe(2);
	expect(owners).not.toContain("");
});

it("every engine comes to the same result", () => {
	const live = ["a", "b", "c"].map((id) => ({ id, claims: [] }));
	const shares = live.map(({ id }) => {
		const preferences = new Preferences(id, 32);
		preferences.update(live);
		return preferences.timers;
	});
	expect(shares.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 32 }, (_, n) => n));
});

describe("work of a lane", () => {
	const update = (engines: Record<string, string[]>) => {
		const preferences = new Preferences("a", 8);
		preferences.update(Object.entries(engines).map(([id, claims]) => ({ id, claims })));
		return preferences;
	};

	it("is this engine's everywhere while no other is claimed from for it", () => {
		expect(update({ a: [] }).inLane("default,x")).toBeUndefined();
		expect(update({ a: [], b: [] }).inLane("default,x")).toBeUndefined();
		expect(update({ a: ["default,x"], b: ["default,y", "other,x"] }).inLane("default,x")).toBeUndefined();
	});

	it("is shared out among the engines that are", () => {
		expect(update({ a: [], b: ["default,x"] }).inLane("default,x")?.size).toBe(4);
		expect(update({ a: [], b: [EVERY_LANE], c: [], d: ["default,x"] }).inLane("default,x")?.size).toBe(3);
	});

	it("is made where this engine's own workers come first, or where it minds what is due if it has none", () => {
		const workers = update({ a: ["default,x"], b: [], c: ["default,x"] });
		expect(new Set(workers.newWork)).toEqual(workers.inLane("default,x"));
		const none = update({ a: [], b: ["default,x"] });
		expect(none.newWork).toEqual(none.timers);
	});
});

it("tells whether anything changed", () => {
	const preferences = new Preferences("a", 8);
	expect(preferences.update([{ id: "a", claims: [] }])).toBe(true);
	expect(preferences.update([{ id: "a", claims: [] }])).toBe(false);
	expect(preferences.update([{ id: "a", claims: ["default,x"] }])).toBe(true);
});
