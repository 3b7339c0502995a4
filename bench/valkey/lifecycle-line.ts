import { median } from "../limits/sqlite-writes.ts";
import { openBullMq } from "../peers/bullmq.ts";
import type { Line } from "../report.ts";
import { lifecycle } from "../scenarios/lifecycle.ts";
import type { BenchServer } from "./bench-server.ts";
import { openOn, type ValkeyBench } from "./valkey-bench.ts";

interface Round {
	perSecond: number;
	engineMicros: number;
	serverMicros: number;
}

/** Rounds that are not counted, on both sides: a process that has just started still compiles its own code. */
const WARM_UP = 3;

/**
 * How often the two take turns within a round. What else runs on the machine comes and goes in seconds: turns of a
 * fraction of one meet the same machine, and a round is the sum of them.
 */
const TURNS = 10;

/** Whole lifecycles beside BullMQ's: same process, driver, server and payload, in turn. */
export async function valkeyLifecycleLines(bench: ValkeyBench): Promise<Line[]> {
	const { server, partitions, rounds, size } = bench;
	const ours = await openOn(server, partitions);
	const theirs = await openBullMq(server.url);
	const our: Round[] = [];
	const their: Round[] = [];
	let counted = { ...ours.engine.counters };
	for (let round = 1 - WARM_UP; round <= rounds; round++) {
		const [here, there] = await takeTurns(server, size, [
			(count) => lifecycle(ours, count),
			(count) => theirs.lifecycle(count),
		]);
		if (round <= 0) {
			counted = { ...ours.engine.counters };
			continue;
		}
		our.push(here);
		their.push(there);
		bench.progress(`  round ${round}: ${here.perSecond.toFixed(0)} beside ${there.perSecond.toFixed(0)}`);
	}
	const { units, commits } = ours.engine.counters;
	await ours.close();
	await theirs.close();
	const of = (all: Round[], name: keyof Round): number => median(all.map((round) => round[name]));
	const beside = (name: keyof Round, wanted: string) => {
		const figure = of(their, name);
		// Of each round by itself: the machine is not the same from one round to the next.
		const ratio = median(our.map((round, n) => round[name] / (their[n] as Round)[name]));
		return { name: theirs.name, figure, ratio, wanted };
	};
	const line = { store: "valkey", partitions };
	return [
		{
			...line,
			scenario: "valkey lifecycle",
			figure: of(our, "perSecond"),
			unit: "lifecycles/s",
			against: beside("perSecond", "≥ 1.3"),
			unitsPerCommit: (units - counted.units) / (commits - counted.commits),
			cpuMicros: of(our, "engineMicros"),
		},
		{
			...line,
			scenario: "server CPU per lifecycle",
			figure: of(our, "serverMicros"),
			unit: "µs",
			against: beside("serverMicros", "≤ 0.8"),
		},
		{
			...line,
			scenario: "process CPU per lifecycle",
			figure: of(our, "engineMicros"),
			unit: "µs",
			against: beside("engineMicros", ""),
		},
	];
}

type Run = (count: number) => Promise<number>;

async function takeTurns(server: BenchServer, size: number, runs: [Run, Run]): Promise<[Round, Round]> {
	const count = Math.ceil(size / TURNS);
	const turns: [Round[], Round[]] = [[], []];
	for (let turn = 0; turn < TURNS; turn++) {
		turns[0].push(await measure(server, count, runs[0]));
		turns[1].push(await measure(server, count, runs[1]));
	}
	return [together(turns[0]), together(turns[1])];
}

/** Turns of the same number of lifecycles as one. */
function together(turns: readonly Round[]): Round {
	const mean = (of: (turn: Round) => number) => turns.reduce((sum, turn) => sum + of(turn), 0) / turns.length;
	return {
		perSecond: 1 / mean((turn) => 1 / turn.perSecond),
		engineMicros: mean((turn) => turn.engineMicros),
		serverMicros: mean((turn) => turn.serverMicros),
	};
}

async function measure(server: BenchServer, count: number, run: Run): Promise<Round> {
	const before = await server.usage();
	const client = process.cpuUsage();
	const perSecond = await run(count);
	const { user, system } = process.cpuUsage(client);
	const { micros } = await server.usage();
	return { perSecond, engineMicros: (user + system) / count, serverMicros: (micros - before.micros) / count };
}
