import type { Calls } from "../src/contract/backend.ts";
import type { LocalBackend } from "../src/engine/local-backend.ts";
import type { FlowFabric } from "../src/index.ts";
import { median } from "./limits/sqlite-writes.ts";
import type { Line } from "./report.ts";

/** A FlowFabric with several tenants. */
export interface EventsBench {
	ff: FlowFabric;
	store: string;
	partitions: number;
	rounds: number;
	progress(text: string): void;
}

const COMMITS_OF_ONE = 12_000;
const COMPARED = 200;
const READERS = 1000;
const FOREIGN = 200_000;
const OWN = 1000;
const PAGE = 100;

/** What a history, a feed and those who wait for one cost when there is much of them, beside when there is little. */
export async function eventLines(bench: EventsBench): Promise<Line[]> {
	return [await historyLine(bench), await readersLine(bench), await feedLine(bench)];
}

const callsOf = ({ ff }: EventsBench, namespace: string): Calls =>
	(ff.backend as LocalBackend).as({ actor: "bench", namespace });

/**
 * Every change of one execution is a commit and an event of the same owner. The last are made in turns with the first of
 * another: whatever else the machine does then, it does to both.
 */
async function historyLine(bench: EventsBench): Promise<Line> {
	const { executions } = callsOf(bench, "history");
	const begin = async () => (await executions.create({ kind: "busy", delayMs: 86_400_000 })).id;
	const change = async (id: string, n: number): Promise<number> => {
		const startedAt = performance.now();
		await executions.changePriority(id, { priority: 1 + (n % 2) });
		return performance.now() - startedAt;
	};
	const busy = await begin();
	for (let n = 0; n < COMMITS_OF_ONE - COMPARED; n++) await change(busy, n);
	bench.progress(`  ${COMMITS_OF_ONE} events of one execution`);
	const last: number[] = [];
	const first: number[] = [];
	const other = await begin();
	for (let n = 0; n < COMPARED; n++) {
		last.push(await change(busy, n));
		first.push(await change(other, n));
	}
	return line(
		bench,
		`commit ${COMMITS_OF_ONE} of one owner p50`,
		median(last),
		`first ${COMPARED}`,
		median(first),
		"≤ 1.2",
	);
}

/** Creates of one tenant, in turns with and without another's readers. */
async function readersLine(bench: EventsBench): Promise<Line> {
	const { executions } = callsOf(bench, "writer");
	const { feed } = callsOf(bench, "readers");
	const create = async () => {
		const startedAt = performance.now();
		await executions.create({ kind: "job", delayMs: 86_400_000 });
		return performance.now() - startedAt;
	};
	const many = async () => {
		const ms: number[] = [];
		for (let n = 0; n < 300; n++) ms.push(await create());
		return median(ms);
	};
	await many();
	const alone: number[] = [];
	const beside: number[] = [];
	for (let round = 0; round < bench.rounds; round++) {
		alone.push(await many());
		const leave = new AbortController();
		const waiting = Array.from({ length: READERS }, () => feed.read({ cursor: "end", waitMs: 30_000 }, leave.signal));
		// All of them have read and wait once one that came later has.
		await feed.read({ cursor: "end", waitMs: 500 });
		beside.push(await many());
		leave.abort();
		await Promise.all(waiting);
	}
	const scenario = `create beside ${READERS} idle readers p50`;
	return line(bench, scenario, median(beside), "none", median(alone), "≤ 1.5");
}

/** All of a tenant's feed, before and after others have filled the logs. */
async function feedLine(bench: EventsBench): Promise<Line> {
	const { executions } = callsOf(bench, "small");
	const others = callsOf(bench, "large").executions;
	const fill = async (into: typeof executions, count: number) => {
		for (let n = 0; n < count; n += 1000) {
			const items = Array.from({ length: Math.min(1000, count - n) }, () => ({ kind: "job", delayMs: 86_400_000 }));
			await into.createMany(items);
		}
	};
	await fill(executions, OWN / 2);
	await fill(others, FOREIGN / 100);
	await fill(executions, OWN / 2);
	await readAll(bench);
	const before = await timesOf(bench);
	await fill(others, FOREIGN);
	bench.progress(`  ${FOREIGN} events of others`);
	const after = await timesOf(bench);
	return line(
		bench,
		`feed of ${OWN} beside ${FOREIGN}`,
		Math.min(...after),
		"beside few",
		Math.min(...before),
		"≤ 1.3",
	);
}

async function timesOf(bench: EventsBench): Promise<number[]> {
	const ms: number[] = [];
	for (let round = 0; round < 4 * bench.rounds; round++) {
		const startedAt = performance.now();
		await readAll(bench);
		ms.push(performance.now() - startedAt);
	}
	return ms;
}

async function readAll(bench: EventsBench): Promise<void> {
	const { feed } = callsOf(bench, "small");
	let count = 0;
	let cursor: string | undefined;
	for (;;) {
		const page = await feed.read({ limit: PAGE, ...(cursor === undefined ? undefined : { cursor }) });
		count += page.events.length;
		cursor = page.nextCursor;
		if (page.events.length === 0) break;
	}
	if (count !== OWN) throw new Error(`the feed told of ${count} events, not ${OWN}`);
}

function line(
	{ store, partitions }: EventsBench,
	scenario: string,
	figure: number,
	name: string,
	limit: number,
	wanted: string,
): Line {
	const against = { name, figure: limit, ratio: figure / limit, wanted };
	return { scenario, store, partitions, figure, unit: "ms", against };
}
