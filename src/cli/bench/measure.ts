import { randomBytes } from "node:crypto";
import type { FlowFabric } from "../../library/flowfabric.ts";

export interface BenchOptions {
	count: number;
	concurrency: number;
	namespace: string;
	/** How far, 0 to 100, and what is being done. */
	onProgress(percent: number, what: string): void;
}

export interface Percentiles {
	p50: number;
	p90: number;
	p99: number;
	max: number;
}

export interface BenchReport {
	count: number;
	concurrency: number;
	/** Whole lifecycles a second: submitted in batches, claimed, completed. */
	perSecond: number;
	/** One submit, answered; a few at a time. */
	submitMs: Percentiles;
	/** From submitting one to having its result. */
	roundTripMs: Percentiles;
}

const KIND = "flowfabric.bench";
const BATCH = 100;
const BATCHES_IN_FLIGHT = 4;
const MOST_ROUND_TRIPS = 500;
const ROUND_TRIPS_IN_FLIGHT = 4;
/** What the run leaves behind goes by itself. */
const POLICY = { retentionMs: 60_000 };

/** A lane of its own keeps the run out of everybody's way, and everybody's work out of its figures. */
export async function measure(ff: FlowFabric, options: BenchOptions): Promise<BenchReport> {
	const lane = `bench-${randomBytes(4).toString("hex")}`;
	const perSecond = await throughput(ff, lane, options);
	const { submitMs, roundTripMs } = await latency(ff, lane, options);
	const { count, concurrency } = options;
	return { count, concurrency, perSecond, submitMs: percentiles(submitMs), roundTripMs: percentiles(roundTripMs) };
}

async function throughput(ff: FlowFabric, lane: string, options: BenchOptions): Promise<number> {
	const { count, concurrency, namespace, onProgress } = options;
	let handled = 0;
	let allHandled = () => {};
	const done = new Promise<void>((resolve) => (allHandled = resolve));
	const worker = ff.worker({ lanes: [lane], namespace, concurrency, handleSignals: false, workerId: "bench" });
	worker.handle(KIND, () => {
		handled += 1;
		if (handled % BATCH === 0) onProgress((100 * handled) / count, "throughput");
		if (handled >= count) allHandled();
		return null;
	});
	await worker.start();
	const startedAt = performance.now();
	let submitted = 0;
	await inParallel(BATCHES_IN_FLIGHT, async () => {
		while (submitted < count) {
			const size = Math.min(BATCH, count - submitted);
			const items = Array.from({ length: size }, (_, n) => ({
				kind: KIND,
				lane,
				namespace,
				policy: POLICY,
				input: { n: submitted + n, text: "x".repeat(180) },
			}));
			submitted += size;
			const refused = (await ff.submitMany(items)).find((item) => !item.ok);
			if (refused && !refused.ok) throw new Error(`a submit was refused: ${refused.error.message}`);
		}
	});
	await done;
	// A worker has stopped only when every outcome is told.
	await worker.stop();
	return count / ((performance.now() - startedAt) / 1000);
}

async function latency(ff: FlowFabric, lane: string, { count, namespace, onProgress }: BenchOptions) {
	const total = Math.min(count, MOST_ROUND_TRIPS);
	const submitMs: number[] = [];
	const roundTripMs: number[] = [];
	const worker = ff.worker({ lanes: [lane], namespace, concurrency: 16, handleSignals: false, workerId: "bench" });
	worker.handle(KIND, () => null);
	await worker.start();
	let begun = 0;
	await inParallel(ROUND_TRIPS_IN_FLIGHT, async () => {
		while (begun < total) {
			begun += 1;
			const startedAt = performance.now();
			const run = await ff.submit(KIND, { begun }, { lane, namespace, policy: POLICY });
			submitMs.push(performance.now() - startedAt);
			await run.result();
			roundTripMs.push(performance.now() - startedAt);
			onProgress((100 * roundTripMs.length) / total, "latency");
		}
	});
	await worker.stop();
	return { submitMs, roundTripMs };
}

async function inParallel(count: number, work: () => Promise<void>): Promise<void> {
	await Promise.all(Array.from({ length: count }, work));
}

function percentiles(samples: readonly number[]): Percentiles {
	const sorted = [...samples].sort((a, b) => a - b);
	const at = (share: number) => round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
	return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: round(sorted.at(-1) ?? 0) };
}

const round = (ms: number): number => Math.round(ms * 100) / 100;
