import { FlowFabricError } from "../../contract/errors.ts";
import { guardsQueue, waitersQueue } from "../../kernel/placement.ts";
import { type GuardKind, type GuardName, type GuardRecord, isGone, slotOfGuard } from "../../kernel/records/guard.ts";
import type { QueuePosition } from "../../store/port.ts";
import { keyOf, notFound } from "../admission/guard-directory.ts";
import { mapBounded } from "../bounded.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { compare } from "./queue-merge.ts";

/** Partitions asked at the same time. */
const PARTITIONS_AT_ONCE = 8;
/** Records read at a time, and how long their documents may be together: a page that comes to that ends there. */
const READ_AT_ONCE = 100;
const MAX_CHARS = 4 * 1024 * 1024;

export const runnerOfGuard = (session: Session, guard: GuardName): PartitionRunner =>
	session.engine.runnerOfSlot(slotOfGuard(guard));

/** A budget or quota as the store has it, or `budget_not_found`, `quota_not_found`. */
export async function readGuard<R extends GuardRecord>(session: Session, guard: GuardName): Promise<R> {
	const runner = runnerOfGuard(session, guard);
	const { records } = await runner.ask((store, partition) => store.read(partition, [keyOf(guard)]));
	const [stored] = records;
	const record = stored && stored.version > 0 ? session.decode<R>(stored) : undefined;
	if (!record || isGone(record)) throw notFound(guard);
	return record;
}

interface Place extends QueuePosition {
	runner: PartitionRunner;
}

/** Budgets or quotas of a namespace in the order they were made, those behind a position. */
export async function listGuards<R extends GuardRecord>(
	session: Session,
	kind: GuardKind,
	namespace: string,
	limit: number,
	after: QueuePosition | undefined,
): Promise<{ found: { record: R; runner: PartitionRunner }[]; next?: QueuePosition }> {
	const places = await placesBehind(session, guardsQueue(kind, namespace), limit + 1, after);
	const found: { record: R; runner: PartitionRunner }[] = [];
	let taken = 0;
	for (let chars = 0; taken < Math.min(limit, places.length) && chars < MAX_CHARS; ) {
		const step = places.slice(taken, Math.min(limit, taken + READ_AT_ONCE));
		const docs = await readPlaces(step);
		for (const { key, runner } of step) {
			const stored = docs.get(key);
			chars += stored?.doc.length ?? 0;
			const record = stored && stored.version > 0 ? session.decodeReadable<R>(stored) : undefined;
			if (record && !isGone(record)) found.push({ record, runner });
		}
		taken += step.length;
	}
	const last = places[taken - 1];
	return { found, ...(last && taken < places.length ? { next: { score: last.score, key: last.key } } : undefined) };
}

async function placesBehind(session: Session, queue: string, count: number, after: QueuePosition | undefined) {
	const pages = await mapBounded(session.engine.runners, PARTITIONS_AT_ONCE, async (runner): Promise<Place[]> => {
		const { entries } = await runner.ask((store, partition) => store.first(partition, queue, count, after));
		return entries.map(({ score, key }) => ({ score, key, runner }));
	});
	return pages.flat().sort(compare).slice(0, count);
}

async function readPlaces(places: readonly Place[]) {
	const keys = new Map<PartitionRunner, string[]>();
	for (const { key, runner } of places) {
		const there = keys.get(runner);
		if (there) there.push(key);
		else keys.set(runner, [key]);
	}
	const pages = await mapBounded([...keys], PARTITIONS_AT_ONCE, ([runner, wanted]) =>
		runner.ask((store, partition) => store.read(partition, wanted)),
	);
	return new Map(pages.flatMap(({ records }) => records.map((stored) => [stored.key, stored])));
}

/** Refuses one that would be one too many. Several made at the same time may be a few more. */
export async function refuseTooMany(session: Session, guard: GuardName): Promise<void> {
	const { kind, namespace } = guard;
	const { most: limit } = session.engine.guards;
	if ((await sizeOf(session, guardsQueue(kind, namespace))) < limit) return;
	try {
		await readGuard(session, guard);
	} catch (error) {
		if (!(error instanceof FlowFabricError) || error.status !== 404) throw error;
		const code = kind === "budget" ? "too_many_budgets" : "too_many_quotas";
		throw new FlowFabricError(code, { message: `the namespace already has ${limit} ${kind}s`, details: { limit } });
	}
}

/** How much waits for one budget or quota. */
export const countWaiters = (session: Session, { kind, namespace, id }: GuardName): Promise<number> =>
	sizeOf(session, waitersQueue(kind, namespace, id));

/** How much waits for each budget or quota of a namespace, by id. */
export async function countAllWaiters(
	session: Session,
	kind: GuardKind,
	namespace: string,
): Promise<ReadonlyMap<string, number>> {
	const prefix = waitersQueue(kind, namespace, "");
	const waiting = new Map<string, number>();
	for (const { queue, size } of await sizesIn(session, prefix)) {
		const id = queue.slice(prefix.length);
		waiting.set(id, (waiting.get(id) ?? 0) + size);
	}
	return waiting;
}

/** Over all partitions; another queue may begin like this one. */
async function sizeOf(session: Session, name: string): Promise<number> {
	let sum = 0;
	for (const { queue, size } of await sizesIn(session, name)) if (queue === name) sum += size;
	return sum;
}

async function sizesIn(session: Session, prefix: string) {
	const answers = await mapBounded(session.engine.runners, PARTITIONS_AT_ONCE, (runner) =>
		runner.ask((store, partition) => store.queueSizes(partition, prefix)),
	);
	return answers.flatMap(({ queues }) => queues);
}
