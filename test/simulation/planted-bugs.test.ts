import { describe, expect, test } from "vitest";
import { plantedBugs, simulate } from "./simulate.ts";

const SEEDS = 500;
const STEPS = 300;

describe("planted bugs are found", () => {
	test.each(Object.entries(plantedBugs))("%s", { timeout: 600_000 }, async (name, bugs) => {
		let seed = 1;
		// Whatever else goes wrong over a bug, it counts as found only when it is seen to do what must not be done.
		while (seed <= SEEDS && !(await simulate(seed, STEPS, bugs))?.isViolation) seed += 1;
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
