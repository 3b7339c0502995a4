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

/** Whole lifecycles beside BullMQ's: same process, driver, server and payload, in turn. */
export async function valkeyLifecycleLines(bench: ValkeyBench): Promise<Line[]> {
	const { server, partitions, rounds, size } = bench;
	const ours = await openOn(server, partitions);
	const theirs = await openBullMq(server.url);
	const our: Round[] = [];
	const their: Round[] = [];
	let counted = { ...ours.engine.counters };
	for (let round = 1 - WARM_UP; round <= rounds; round++) {
		const here = await measure(server, size, (count) => lifecycle(ours, count));
		const there = await measure(server, size, (count) => theirs.lifecycle(count));
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
		return { name: theirs.name, figure, ratio: of(our, name) / figure, wanted };
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

async function measure(server: BenchServer, count: number, run: (count: number) => Promise<number>): Promise<Round> {
	const before = await server.usage();
	const client = process.cpuUsage();
	const perSecond = await run(count);
	const { user, system } = process.cpuUsage(client);
	const { micros } = await server.usage();
	return { perSecond, engineMicros: (user + system) / count, serverMicros: (micros - before.micros) / count };
}
