import { median } from "./limits/sqlite-writes.ts";
import type { Line } from "./report.ts";
import { guardedLifecycle } from "./scenarios/guarded.ts";
import { lifecycle } from "./scenarios/lifecycle.ts";
import {
	besideBacklog,
	classClaims,
	classLifecycles,
	emptyLane,
	emptyLaneInTurn,
	headOfLine,
	MANY_CLASSES,
	ONE_CLASS,
	pauseTime,
} from "./scenarios/scheduling.ts";
import { openTarget, type StoreName, type Target } from "./target.ts";

export interface SchedulingBench {
	store: StoreName;
	partitions: number;
	rounds: number;
	size: number;
	queued: number;
	progress(text: string): void;
}

const PINGS = 200;

/** Each figure beside that of the same run without what is measured. */
export const SCHEDULING: Record<string, (bench: SchedulingBench) => Promise<Line>> = {
	"claim-classes": (bench) =>
		compare(bench, "claim-classes", "claims/s", "≥ 0.8", "one kind, none required", {
			measure: (target) => classClaims(target, bench.size, MANY_CLASSES),
			beside: (target) => classClaims(target, bench.size, ONE_CLASS),
		}),
	"class-lifecycles": (bench) =>
		compare(bench, "class-lifecycles", "lifecycles/s", "≥ 0.8", "one kind, none required", {
			measure: (target) => classLifecycles(target, bench.size, MANY_CLASSES),
			beside: (target) => classLifecycles(target, bench.size, ONE_CLASS),
		}),
	"head-of-line": (bench) =>
		compare(bench, "head-of-line p50", "ms", "≤ 3", "empty lane", {
			measure: (target) => headOfLine(target, 10_000, PINGS),
			beside: (target) => emptyLane(target, PINGS),
		}),
	fairness: (bench) =>
		compare(bench, "fairness p50", "ms", "≤ 5", "empty lane", {
			measure: (target) => besideBacklog(target, bench.queued, PINGS),
			beside: (target) => emptyLaneInTurn(target, PINGS),
		}),
	guarded: (bench) =>
		compare(bench, "guarded lifecycle", "lifecycles/s", "≥ 0.4", "without budget and quota", {
			measure: (target) => guardedLifecycle(target, bench.size, { budgets: 1, quotas: 1 }),
			beside: (target) => lifecycle(target, bench.size),
		}),
	pause: (bench) =>
		compare(bench, `pause of ${bench.queued}`, "ms", "≤ 2", "of 10", {
			measure: (target) => pauseTime(target, bench.queued),
			beside: (target) => pauseTime(target, 10),
		}),
};

type Run = (target: Target) => Promise<number>;

async function compare(
	{ store, partitions, rounds, progress }: SchedulingBench,
	scenario: string,
	unit: string,
	wanted: string,
	name: string,
	runs: { measure: Run; beside: Run },
): Promise<Line> {
	const figures: number[] = [];
	const others: number[] = [];
	for (let round = 0; round <= rounds; round++) {
		const other = await onNewStore(store, partitions, runs.beside);
		const figure = await onNewStore(store, partitions, runs.measure);
		// The first warms the code up.
		if (round === 0) continue;
		figures.push(figure);
		others.push(other);
		progress(`  round ${round}: ${figure.toFixed(2)} beside ${other.toFixed(2)}`);
	}
	const figure = median(figures);
	const other = median(others);
	return {
		scenario,
		store,
		partitions,
		figure,
		unit,
		against: { name, figure: other, ratio: figure / other, wanted },
	};
}

async function onNewStore(store: StoreName, partitions: number, run: Run): Promise<number> {
	const target = await openTarget(store, partitions);
	try {
		return await run(target);
	} finally {
		await target.close();
	}
}
