import { median } from "./limits/sqlite-writes.ts";
import type { Line } from "./report.ts";
import { chains, fan, quorum } from "./scenarios/flows.ts";
import { lifecycle } from "./scenarios/lifecycle.ts";
import type { Target } from "./target.ts";

const FLOWS = 1000;
const LENGTH = 10;
const WIDTH = 1000;

interface FlowBench {
	store: string;
	partitions: number;
	rounds: number;
	/** A store that is not there yet, every time. */
	open(partitions: number): Promise<Pick<Target, "ff" | "close">>;
	progress(text: string): void;
}

type Measured = (target: Pick<Target, "ff">) => Promise<number>;

/** What flows cost, beside the same work without one. */
export async function flowLines(bench: FlowBench): Promise<Line[]> {
	const { store, partitions, rounds, progress } = bench;
	const measure = async (at: number, one: Measured, beside: Measured) => {
		const figures: { figure: number; beside: number }[] = [];
		for (let round = 0; round <= rounds; round++) {
			const once = async (measured: Measured) => {
				const target = await bench.open(at);
				const figure = await measured(target);
				await target.close();
				return figure;
			};
			const pair = { figure: await once(one), beside: await once(beside) };
			if (round === 0) continue;
			figures.push(pair);
			progress(`  round ${round}: ${pair.figure.toFixed(0)} beside ${pair.beside.toFixed(0)}`);
		}
		return {
			store,
			partitions: at,
			figure: median(figures.map((each) => each.figure)),
			unit: "executions/s",
			limit: median(figures.map((each) => each.beside)),
			// Of each round by itself: the machine is not the same from one round to the next.
			ratio: median(figures.map((each) => each.figure / each.beside)),
		};
	};
	const chained = (at: number) =>
		measure(
			at,
			({ ff }) => chains(ff, FLOWS, LENGTH),
			(target) => lifecycle(target, FLOWS * LENGTH),
		);
	const together = await chained(1);
	const spread = partitions > 1 ? await chained(partitions) : undefined;
	const fanned = await measure(
		1,
		({ ff }) => fan(ff, WIDTH),
		(target) => lifecycle(target, WIDTH + 2),
	);
	const target = await bench.open(partitions);
	const sibling = await quorum(target.ff, WIDTH);
	await target.close();
	const line = (scenario: string, { limit, ratio, ...measured }: typeof fanned, wanted?: string): Line => ({
		scenario,
		...measured,
		against: { name: "independent", figure: limit, ratio, ...(wanted === undefined ? undefined : { wanted }) },
	});
	const name = `${FLOWS} chains of ${LENGTH}`;
	return [
		line(name, together, "≥ 0.5"),
		// A flow stays where it is; independent work gathers in one partition at a time, so these are not the same work.
		...(spread ? [line(`${name}, over all partitions`, spread)] : []),
		line(`1 → ${WIDTH} → 1`, fanned, "≥ 0.5"),
		{ scenario: `quorum 1 of ${WIDTH}, per sibling`, store, partitions, figure: sibling, unit: "ms" },
	];
}
