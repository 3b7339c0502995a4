import { describe, expect, test } from "vitest";
import { plantedBugs, simulate } from "./simulate.ts";

const SEEDS = 500;
const STEPS = 300;
const CHUNK = 50;

/** What a run is about must come up in it, and not just now and then. */
const COMMON = [
	"granted",
	"grant accepted",
	"grant_lapsed",
	"blocked",
	"unblocked",
	"lane pause answered",
	"lane drain answered",
	"agingMs changed",
	"worker came",
	"worker vanished",
	"worker returned",
	"worker removed",
	"turns taken",
	"partitions changed hands",
];

/** `npm run simulate -- --from <seed> --seeds 1` replays what fails here. */
describe(`simulation: ${SEEDS} seeds of ${STEPS} steps`, () => {
	const seen = new Map<string, number>();
	for (let from = 1; from <= SEEDS; from += CHUNK) {
		test(`seeds ${from} to ${from + CHUNK - 1} violate nothing`, { timeout: 300_000 }, async () => {
			for (let seed = from; seed < from + CHUNK; seed++) {
				const finding = await simulate(seed, STEPS, {}, seen);
				expect(finding && `seed ${seed}: ${finding.error.stack}`).toBeUndefined();
			}
		});
	}

	test("everything it is about came up", () => {
		const counts = COMMON.map((what): [string, number] => [what, seen.get(what) ?? 0]);
		process.stdout.write(`simulated: ${counts.map(([what, count]) => `${count} × ${what}`).join(", ")}\n`);
		expect(counts.filter(([, count]) => count < SEEDS / 5)).toEqual([]);
	});
});

describe("planted bugs are found", () => {
	test.each(Object.entries(plantedBugs))("%s", { timeout: 300_000 }, async (name, bugs) => {
		let seed = 1;
		while (seed <= SEEDS && !(await simulate(seed, STEPS, bugs))) seed += 1;
		process.stdout.write(`planted bug "${name}": found after ${seed} seeds\n`);
		expect(seed).toBeLessThanOrEqual(SEEDS);
	});

	test("a seed always tells the same story", async () => {
		const bugs = plantedBugs["2 refusals are told unchecked"];
		const first = await simulate(1, STEPS, bugs);
		const second = await simulate(1, STEPS, bugs);
		expect(first?.error.message).toBeDefined();
		expect(second?.error.message).toBe(first?.error.message);
	});
});
