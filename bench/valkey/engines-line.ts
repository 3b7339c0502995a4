import { median } from "../limits/sqlite-writes.ts";
import type { Line } from "../report.ts";
import { Child } from "./child.ts";
import { newStore, type ValkeyBench } from "./valkey-bench.ts";

const ENGINES = 2;
const HOT_COMMANDS = 2000;

/** Engines in processes of their own, each with submitters and a worker, on one store: beside one that has it alone. */
export async function valkeyEnginesLine(bench: ValkeyBench): Promise<Line> {
	const { partitions, rounds } = bench;
	const alone: number[] = [];
	const together: number[] = [];
	const again: number[] = [];
	for (let round = 0; round <= rounds; round++) {
		const one = await lifecycles(bench, 1);
		const both = await lifecycles(bench, ENGINES);
		if (round === 0) continue;
		alone.push(one.perSecond);
		together.push(both.perSecond);
		again.push(both.again);
		const share = (100 * both.again).toFixed(1);
		bench.progress(
			`  round ${round}: ${both.perSecond.toFixed(0)} beside ${one.perSecond.toFixed(0)}, ${share} % again`,
		);
	}
	const figure = median(together);
	const limit = median(alone);
	return {
		scenario: `${ENGINES} engines, ${(100 * median(again)).toFixed(1)} % run again (≤ 5 %)`,
		store: "valkey",
		partitions,
		figure,
		unit: "lifecycles/s",
		against: { name: "one engine", figure: limit, ratio: figure / limit, wanted: "≥ 0.9" },
	};
}

/** Every engine submits and works; over when all that was submitted has been handled, by whichever. */
async function lifecycles({ server, partitions, size }: ValkeyBench, engines: number) {
	const url = newStore(server);
	let left = size;
	let finish = () => {};
	const finished = new Promise<void>((resolve) => (finish = resolve));
	const onProgress = (done: number) => {
		left -= done;
		if (left <= 0) finish();
	};
	const children: Child[] = [];
	for (let n = 0; n < engines; n++)
		children.push(await Child.start("child-engine", [url, String(partitions)], onProgress));
	await Promise.all(children.map((child) => child.ask("work")));
	const startedAt = performance.now();
	const submitted = children.map((child) => child.ask("submit", size / engines));
	await Promise.all([...submitted, finished]);
	const perSecond = size / ((performance.now() - startedAt) / 1000);
	const counts = await Promise.all(children.map((child) => child.ask<{ units: number; again: number }>("units")));
	await Promise.all(children.map((child) => child.stop()));
	const sum = (name: "units" | "again"): number => counts.reduce((total, count) => total + count[name], 0);
	return { perSecond, again: sum("again") / sum("units") };
}

/** One record that every command of two engines writes: nobody is turned away, nobody loses for ever. */
export async function valkeyHotLine({ server, partitions }: ValkeyBench): Promise<Line> {
	const url = newStore(server);
	const children: Child[] = [];
	for (let n = 0; n < ENGINES; n++) children.push(await Child.start("child-hot", [url, String(partitions)]));
	const outcomes = await Promise.all(
		children.map((child) => child.ask<{ failed: number; worstLosses: number }>("count", HOT_COMMANDS)),
	);
	const counted = await children[0]?.ask<number>("counted");
	await Promise.all(children.map((child) => child.stop()));
	const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0);
	if (failed > 0 || counted !== ENGINES * HOT_COMMANDS)
		throw new Error(`${failed} commands failed, ${counted} of ${ENGINES * HOT_COMMANDS} were counted`);
	const worst = Math.max(...outcomes.map(({ worstLosses }) => worstLosses));
	return {
		scenario: `${ENGINES} engines, a record all write`,
		store: "valkey",
		partitions,
		figure: worst,
		unit: "losses in a row",
		against: { name: "allowed", figure: 15, ratio: worst / 15, wanted: "≤ 1" },
	};
}
