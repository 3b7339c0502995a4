import { median } from "../limits/sqlite-writes.ts";
import type { Line } from "../report.ts";
import { guardedLifecycle } from "../scenarios/guarded.ts";
import { lifecycle } from "../scenarios/lifecycle.ts";
import { openOn, type ValkeyBench } from "./valkey-bench.ts";

/** Lifecycles that a quota must admit, one for all or one of eight, beside those that nothing must. */
export async function valkeyGuardedLines(bench: ValkeyBench): Promise<Line[]> {
	const { partitions, rounds, size, progress } = bench;
	const plain: number[] = [];
	const shared: number[] = [];
	const spread: number[] = [];
	for (let round = 0; round <= rounds; round++) {
		const alone = await onNewStore(bench, (target) => lifecycle(target, size));
		const one = await onNewStore(bench, (target) => guardedLifecycle(target, size, { budgets: 0, quotas: 1 }));
		const eight = await onNewStore(bench, (target) => guardedLifecycle(target, size, { budgets: 0, quotas: 8 }));
		if (round === 0) continue;
		plain.push(alone);
		shared.push(one);
		spread.push(eight);
		progress(`  round ${round}: ${one.toFixed(0)} and ${eight.toFixed(0)} beside ${alone.toFixed(0)}`);
	}
	const line = (scenario: string, figures: number[], wanted: string): Line => {
		const [figure, limit] = [median(figures), median(plain)];
		const against = { name: "without quotas", figure: limit, ratio: figure / limit, wanted };
		return { scenario, store: "valkey", partitions, figure, unit: "lifecycles/s", against };
	};
	return [line("lifecycle under one quota", shared, "≥ 0.25"), line("lifecycle under eight quotas", spread, "≥ 0.3")];
}

async function onNewStore(
	{ server, partitions }: ValkeyBench,
	run: (target: Awaited<ReturnType<typeof openOn>>) => Promise<number>,
): Promise<number> {
	const target = await openOn(server, partitions);
	try {
		return await run(target);
	} finally {
		await target.close();
	}
}
