import { median } from "./limits/sqlite-writes.ts";
import type { Line } from "./report.ts";
import { type StepCosts, stepCosts } from "./scenarios/steps.ts";
import type { Target } from "./target.ts";

const STEPS = 10_000;

interface StepsBench {
	store: string;
	partitions: number;
	rounds: number;
	/** A store that is not there yet, every time. */
	open(): Promise<Pick<Target, "ff" | "close">>;
	progress(text: string): void;
}

/** What the last steps of a long handler cost beside the first, and what it costs to come by those that are recorded. */
export async function stepsLines({ store, partitions, rounds, open, progress }: StepsBench): Promise<Line[]> {
	const all: StepCosts[] = [];
	for (let round = 0; round <= rounds; round++) {
		const target = await open();
		const costs = await stepCosts(target, STEPS);
		await target.close();
		if (round === 0) continue;
		all.push(costs);
		progress(`  round ${round}: ${costs.late.toFixed(3)} ms beside ${costs.early.toFixed(3)}`);
	}
	const of = (cost: keyof StepCosts): number => median(all.map((costs) => costs[cost]));
	const [early, late, passed] = [of("early"), of("late"), of("passed")];
	const first = { name: "among the first 1k", figure: early };
	return [
		{
			scenario: "step, 9k recorded before",
			store,
			partitions,
			figure: late,
			unit: "ms",
			against: { ...first, ratio: late / early, wanted: "≤ 1.3" },
		},
		{
			scenario: "step that is recorded",
			store,
			partitions,
			figure: passed,
			unit: "ms",
			against: { ...first, ratio: passed / early },
		},
	];
}
