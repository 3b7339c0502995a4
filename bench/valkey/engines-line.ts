import { median } from "../limits/sqlite-writes.ts";
import type { Line } from "../report.ts";
import { SUBMITTERS } from "../scenarios/lifecycle.ts";
import { Child, type Progress, sharedNow } from "./child.ts";
import { newStore, type ValkeyBench } from "./valkey-bench.ts";

const ENGINES = 2;
/** Of all engines together. */
const ALL_SUBMITTERS = ENGINES * SUBMITTERS;
const HOT_COMMANDS = 2000;
const WARM_UP = 40_000;

interface Counts {
	units: number;
	again: number;
	cpuMicros: number;
}

interface Figures {
	perSecond: number;
	/** Share of units whose commands had to run again. */
	again: number;
	/** CPU per lifecycle, of all engines together. */
	engineMicros: number;
	serverMicros: number;
}

/**
 * Engines in processes of their own, each with submitters and a worker, on one store: beside one that has it alone, with
 * as many submitters and handlers as all of them together, and beside as many engines that share nothing but server and
 * machine, which is all that can be had of these. With few handlers each engine waits for the store most of its time,
 * and what is measured is how long three processes wait for two cores.
 */
export async function valkeyEnginesLines(bench: ValkeyBench): Promise<Line[]> {
	const { partitions, rounds } = bench;
	const fleets = {
		alone: await Fleet.start(bench, 1),
		together: await Fleet.start(bench, ENGINES),
		apart: await Fleet.start(bench, ENGINES, () => newStore(bench.server)),
	};
	const figures: Record<keyof typeof fleets, Figures[]> = { alone: [], together: [], apart: [] };
	const shown = ({ perSecond, engineMicros, serverMicros }: Figures): string =>
		`${perSecond.toFixed(0)} (engines ${engineMicros.toFixed(0)}, server ${serverMicros.toFixed(0)} µs each)`;
	for (let round = 1; round <= rounds; round++) {
		const alone = await fleets.alone.measure(bench);
		const together = await fleets.together.measure(bench);
		const apart = await fleets.apart.measure(bench);
		figures.alone.push(alone);
		figures.together.push(together);
		figures.apart.push(apart);
		const share = (100 * together.again).toFixed(1);
		bench.progress(
			`  round ${round}: ${shown(together)} beside ${shown(alone)}, ${share} % again; apart ${shown(apart)}`,
		);
	}
	await Promise.all(Object.values(fleets).map((fleet) => fleet.stop()));
	const of = (name: keyof typeof fleets, what: keyof Figures): number => median(figures[name].map((one) => one[what]));
	const figure = of("together", "perSecond");
	const beside = (name: string, limit: number, wanted: string) => ({
		name,
		figure: limit,
		ratio: figure / limit,
		wanted,
	});
	const line = { store: "valkey", partitions, figure, unit: "lifecycles/s" };
	return [
		{
			...line,
			scenario: `${ENGINES} engines, ${(100 * of("together", "again")).toFixed(1)} % run again (≤ 5 %)`,
			against: beside("one engine", of("alone", "perSecond"), "≥ 0.9"),
			cpuMicros: of("together", "engineMicros"),
		},
		{
			...line,
			scenario: `${ENGINES} engines on one store`,
			against: beside(`${ENGINES} engines on ${ENGINES} stores`, of("apart", "perSecond"), ""),
			cpuMicros: of("apart", "engineMicros"),
		},
	];
}

/** Engines, on one store unless each gets its own, each in its process with submitters and a worker. They idle while others are measured. */
class Fleet {
	readonly #children: Child[] = [];
	#left = 0;
	#finish: (at: number) => void = () => {};

	/** New processes are slow at first: each has done as much before anything is measured. */
	static async start(
		{ server, partitions, handlers }: ValkeyBench,
		engines: number,
		ownStore?: () => string,
	): Promise<Fleet> {
		const fleet = new Fleet();
		const shared = newStore(server);
		let latest = 0;
		const onProgress = ({ done, at }: Progress) => {
			latest = Math.max(latest, at);
			fleet.#left -= done;
			if (fleet.#left <= 0) fleet.#finish(latest);
		};
		for (let n = 0; n < engines; n++) {
			const settings = [
				ownStore?.() ?? shared,
				String(partitions),
				...[handlers, ALL_SUBMITTERS].map((all) => String(Math.ceil(all / engines))),
			];
			fleet.#children.push(await Child.start("child-engine", settings, onProgress));
		}
		await fleet.#ask("work");
		await fleet.#run(WARM_UP * engines);
		return fleet;
	}

	async measure({ server, size }: ValkeyBench): Promise<Figures> {
		const before = await this.#ask<Counts>("units");
		const serverBefore = (await server.usage()).micros;
		const perSecond = size / ((await this.#run(size)) / 1000);
		const serverMicros = ((await server.usage()).micros - serverBefore) / size;
		const after = await this.#ask<Counts>("units");
		const sum = (name: keyof Counts): number =>
			after.reduce((total, count, n) => total + count[name] - (before[n]?.[name] ?? 0), 0);
		return { perSecond, again: sum("again") / sum("units"), engineMicros: sum("cpuMicros") / size, serverMicros };
	}

	async stop(): Promise<void> {
		await Promise.all(this.#children.map((child) => child.stop()));
	}

	/** Every engine submits and works; over when all that was submitted has been handled, by whichever. Milliseconds. */
	async #run(count: number): Promise<number> {
		this.#left = count;
		const finished = new Promise<number>((resolve) => (this.#finish = resolve));
		const startedAt = sharedNow();
		await this.#ask("submit", count / this.#children.length);
		return (await finished) - startedAt;
	}

	#ask<T>(question: string, given?: unknown): Promise<T[]> {
		return Promise.all(this.#children.map((child) => child.ask<T>(question, given)));
	}
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
