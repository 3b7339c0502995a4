import { median } from "../limits/sqlite-writes.ts";
import type { Line } from "../report.ts";
import { dispatch } from "../scenarios/dispatch.ts";
import { BareWrites } from "./bare-writes.ts";
import { Child } from "./child.ts";
import { newStore, openOn, type ValkeyBench } from "./valkey-bench.ts";

const PER_ROUND = 1000;
/** Not counted, on all sides: every round has new processes, whose code is compiled while it runs. */
const WARM_UP = 3000;

/** What one round found: milliseconds, medians. */
interface Round {
	took: number;
	/** A function call that writes as many bytes and no more, made by the worker's process after each dispatch. */
	bare: number;
}

/**
 * Submit → the handler of an idle worker starts, beside a function call that writes as many bytes and no more. That call
 * is made once after each dispatch, so both find processor, caches and server as one event at a time leaves them; and in
 * a row, where all of that stays warm for it alone.
 */
export async function valkeyDispatchLines(bench: ValkeyBench): Promise<Line[]> {
	const { partitions, rounds } = bench;
	const within: Round[] = [];
	const between: Round[] = [];
	const inRow: number[] = [];
	for (let round = 0; round <= rounds; round++) {
		const [one, other, limit] = [await inProcess(bench), await fromElsewhere(bench), await bareInRow(bench)];
		if (round === 0) continue;
		within.push(one);
		between.push(other);
		inRow.push(limit);
		const shown = ({ took, bare }: Round): string => `${took.toFixed(2)} (FCALL ${bare.toFixed(3)})`;
		bench.progress(`  round ${round}: ${shown(one)} and ${shown(other)} ms, FCALLs in a row ${limit.toFixed(3)}`);
	}
	const lines = (scenario: string, found: Round[], wanted: string): Line[] => {
		const figure = median(found.map(({ took }) => took));
		const beside = (name: string, limit: number): Line => ({
			scenario,
			store: "valkey",
			partitions,
			figure,
			unit: "ms",
			against: { name, figure: limit, ratio: figure / limit, wanted },
		});
		return [
			beside("one writing FCALL in between", median(found.map(({ bare }) => bare))),
			beside("writing FCALLs in a row", median(inRow)),
		];
	};
	return [
		...lines("dispatch p50, one process", within, "≤ 8"),
		...lines("dispatch p50, from another process", between, "≤ 12"),
	];
}

async function inProcess({ server, partitions }: ValkeyBench): Promise<Round> {
	const target = await openOn(server, partitions);
	const bare = await BareWrites.open(server, WARM_UP);
	const { p50 } = await dispatch(target, PER_ROUND, WARM_UP, (n) => bare.write(n));
	await target.close();
	return { took: p50, bare: bare.close() };
}

/** The submitter has an engine of its own elsewhere: the worker's hears of the work from the server only. */
async function fromElsewhere({ server, partitions }: ValkeyBench): Promise<Round> {
	const url = newStore(server);
	const target = await openOn(server, partitions, url);
	const bare = await BareWrites.open(server, WARM_UP);
	const child = await Child.start("child-engine", [url, String(partitions)]);
	let started: (at: bigint) => void = () => {};
	const worker = target.ff.worker({ concurrency: 16, handleSignals: false });
	worker.handle("ping", async () => {
		started(process.hrtime.bigint());
	});
	await worker.start();
	const times: number[] = [];
	for (let n = 0; n < WARM_UP + PER_ROUND; n++) {
		const begun = new Promise<bigint>((resolve) => (started = resolve));
		child.tell("submitOne", n);
		const startedAt = await begun;
		const submittedAt = BigInt(await child.ask<string>("ended"));
		if (n >= WARM_UP) times.push(Number(startedAt - submittedAt) / 1e6);
		await bare.write(n);
	}
	await child.stop();
	await target.close();
	return { took: median(times), bare: bare.close() };
}

async function bareInRow({ server }: ValkeyBench): Promise<number> {
	const bare = await BareWrites.open(server, WARM_UP);
	for (let n = 0; n < WARM_UP + PER_ROUND; n++) await bare.write(n);
	return bare.close();
}
