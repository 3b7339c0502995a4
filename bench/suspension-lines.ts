import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { commitLatency } from "./limits/commit-latency.ts";
import { recordUnits } from "./limits/recorded-units.ts";
import { median } from "./limits/sqlite-writes.ts";
import type { Line } from "./report.ts";
import { resumeTime, signalTimes, suspendMany } from "./scenarios/suspension.ts";
import { openTarget, type StoreName } from "./target.ts";
import { BareWrites } from "./valkey/bare-writes.ts";
import { openOn, type ValkeyBench } from "./valkey/valkey-bench.ts";

const PER_ROUND = 300;
const WARM_UP = 300;
const SUSPENDED = 10_000;
const SETTLE_MS = 3000;

interface SuspensionBench {
	store: StoreName;
	partitions: number;
	rounds: number;
	idleMs: number;
	progress(text: string): void;
}

/** What waiting costs: to be resumed, to go on waiting, and to be sent many signals. */
export async function suspensionLines({
	store,
	partitions,
	rounds,
	idleMs,
	progress,
}: SuspensionBench): Promise<Line[]> {
	const figures: number[] = [];
	const limits: number[] = [];
	for (let round = 0; round <= rounds; round++) {
		const target = await openTarget(store, partitions);
		const recorded = recordUnits(target.engine.store);
		const figure = await resumeTime(target, PER_ROUND, WARM_UP);
		recorded.stop();
		const url = store === "sqlite" ? `sqlite:${join(target.folder, "latency.db")}` : "memory:";
		const limit = await commitLatency(url, recorded.units.slice(-4 * PER_ROUND));
		await target.close();
		if (round === 0) continue;
		figures.push(figure);
		limits.push(limit);
		progress(`  round ${round}: ${figure.toFixed(2)} ms, one commit ${limit.toFixed(3)}`);
	}
	const on = { store, partitions };
	const open = () => openTarget(store, partitions);
	return [
		resumeLine(on, median(figures), "one commit", median(limits), store === "sqlite" ? "≤ 6" : undefined),
		await idleLine(on, open, idleMs),
		await signalLine(on, open),
	];
}

/** The same on Valkey, beside a function call that writes as many bytes and no more. */
export async function valkeySuspensionLines(bench: ValkeyBench): Promise<Line[]> {
	const { server, partitions, rounds, idleMs, progress } = bench;
	const figures: number[] = [];
	const limits: number[] = [];
	for (let round = 0; round <= rounds; round++) {
		const target = await openOn(server, partitions);
		const bare = await BareWrites.open(server, WARM_UP);
		const figure = await resumeTime(target, PER_ROUND, WARM_UP, (n) => bare.write(n));
		await target.close();
		const limit = bare.close();
		if (round === 0) continue;
		figures.push(figure);
		limits.push(limit);
		progress(`  round ${round}: ${figure.toFixed(2)} ms, one FCALL ${limit.toFixed(3)}`);
	}
	const on = { store: "valkey", partitions };
	const open = () => openOn(server, partitions);
	return [
		resumeLine(on, median(figures), "one writing FCALL in between", median(limits), "≤ 16"),
		await idleLine(on, open, idleMs),
		await signalLine(on, open),
	];
}

type Place = Pick<Line, "store" | "partitions">;
type Open = () => Promise<Awaited<ReturnType<typeof openOn>> | Awaited<ReturnType<typeof openTarget>>>;

const resumeLine = (on: Place, figure: number, name: string, limit: number, wanted: string | undefined): Line => ({
	scenario: "suspend, signal, resumed p50",
	...on,
	figure,
	unit: "ms",
	against: { name, figure: limit, ratio: figure / limit, ...(wanted === undefined ? undefined : { wanted }) },
});

/** Processor time of an engine with much that waits beyond that of one with nothing, as a share of a core. */
async function idleLine(on: Place, open: Open, idleMs: number): Promise<Line> {
	const share = async (count: number): Promise<number> => {
		const target = await open();
		await suspendMany(target, count);
		await sleep(SETTLE_MS);
		const startedAt = performance.now();
		const usage = process.cpuUsage();
		await sleep(idleMs);
		const { user, system } = process.cpuUsage(usage);
		const elapsed = performance.now() - startedAt;
		await target.close();
		return ((user + system) / 1000 / elapsed) * 100;
	};
	const alone = await share(0);
	const figure = Math.max(0, (await share(SUSPENDED)) - alone);
	const against = { name: "allowed", figure: 1, ratio: figure, wanted: "≤ 1" };
	const seconds = Math.round(idleMs / 1000);
	return { scenario: `${SUSPENDED} suspended for ${seconds} s`, ...on, figure, unit: "% of a core more", against };
}

async function signalLine(on: Place, open: Open): Promise<Line> {
	const target = await open();
	const { last, first } = await signalTimes(target);
	await target.close();
	const against = { name: "first 200", figure: first, ratio: last / first, wanted: "≤ 1.5" };
	return { scenario: "signal 10000 to one execution p50", ...on, figure: last, unit: "ms", against };
}
