import { median } from "../limits/sqlite-writes.ts";
import { openBullMq } from "../peers/bullmq.ts";
import type { Line } from "../report.ts";
import { CONCURRENCY, submitAll } from "../scenarios/lifecycle.ts";
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
	const here = await standing(ours);
	const theirs = await openBullMq(server.url);
	const our: Round[] = [];
	const their: Round[] = [];
	let counted = { ...ours.engine.counters };
	for (let round = 1 - WARM_UP; round <= rounds; round++) {
		const [one, other] = await takeTurns(server, size, [here.lifecycle, theirs.lifecycle]);
		if (round <= 0) {
			counted = { ...ours.engine.counters };
			continue;
		}
		our.push(one);
		their.push(other);
		bench.progress(`  round ${round}: ${one.perSecond.toFixed(0)} beside ${other.perSecond.toFixed(0)}`);
	}
	const { units, commits } = ours.engine.counters;
	await here.stop();
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

/** A worker that stays from turn to turn, as the other's does; a turn ends when the last outcome is committed. */
async function standing({
	ff,
	engine,
}: Awaited<ReturnType<typeof openOn>>): Promise<{ lifecycle: Run; stop(): Promise<void> }> {
	let left = 0;
	let finish = () => {};
	const tell = engine.onCommitted;
	engine.onCommitted = (unit) => {
		tell?.(unit);
		for (const { body } of unit.events) if (body.type === "completed" && --left === 0) finish();
	};
	const worker = ff.worker({ concurrency: CONCURRENCY, handleSignals: false });
	worker.handle("noop", async () => ({ ok: true }));
	await worker.start();
	return {
		stop: () => worker.stop(),
		async lifecycle(count) {
			left = count;
			const finished = new Promise<void>((resolve) => (finish = resolve));
			const startedAt = performance.now();
			await submitAll(ff, count);
			await finished;
			return count / ((performance.now() - startedAt) / 1000);
		},
	};
}

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
