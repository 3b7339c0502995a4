import { Redis } from "iovalkey";
import { median } from "../limits/sqlite-writes.ts";
import type { Line } from "../report.ts";
import { dispatch } from "../scenarios/dispatch.ts";
import { payload } from "../target.ts";
import { Child } from "./child.ts";
import { newStore, openOn, type ValkeyBench } from "./valkey-bench.ts";

const PER_ROUND = 1000;
/** Not counted, on all sides: every round has new processes, whose code is compiled while it runs. */
const WARM_UP = 3000;
const BARE = `#!lua name=bench
redis.register_function('bench_write', function(keys, args) return redis.call('SET', keys[1], args[1]) end)`;

/** Submit → the handler of an idle worker starts, beside a function call that writes as many bytes and no more. */
export async function valkeyDispatchLines(bench: ValkeyBench): Promise<Line[]> {
	const { partitions, rounds } = bench;
	const within: number[] = [];
	const between: number[] = [];
	const bare: number[] = [];
	for (let round = 0; round <= rounds; round++) {
		const [one, other, limit] = [await inProcess(bench), await fromElsewhere(bench), await bareWrites(bench)];
		if (round === 0) continue;
		within.push(one);
		between.push(other);
		bare.push(limit);
		bench.progress(`  round ${round}: ${one.toFixed(2)} and ${other.toFixed(2)} ms beside ${limit.toFixed(2)}`);
	}
	const limit = median(bare);
	const line = (scenario: string, figures: number[], wanted: string): Line => ({
		scenario,
		store: "valkey",
		partitions,
		figure: median(figures),
		unit: "ms",
		against: { name: "one writing FCALL", figure: limit, ratio: median(figures) / limit, wanted },
	});
	return [
		line("dispatch p50, one process", within, "≤ 8"),
		line("dispatch p50, from another process", between, "≤ 12"),
	];
}

async function inProcess({ server, partitions }: ValkeyBench): Promise<number> {
	const target = await openOn(server, partitions);
	const { p50 } = await dispatch(target, PER_ROUND, WARM_UP);
	await target.close();
	return p50;
}

/** The submitter has an engine of its own elsewhere: the worker's hears of the work from the server only. */
async function fromElsewhere({ server, partitions }: ValkeyBench): Promise<number> {
	const url = newStore(server);
	const target = await openOn(server, partitions, url);
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
	}
	await child.stop();
	await target.close();
	return median(times);
}

async function bareWrites({ server }: ValkeyBench): Promise<number> {
	const client = new Redis(server.url);
	await client.call("FUNCTION", "LOAD", "REPLACE", BARE);
	const times: number[] = [];
	for (let n = 0; n < WARM_UP + PER_ROUND; n++) {
		const startedAt = performance.now();
		await client.call("FCALL", "bench_write", "1", `bare:${n}`, JSON.stringify(payload(n)));
		if (n >= WARM_UP) times.push(performance.now() - startedAt);
	}
	client.disconnect();
	return median(times);
}
