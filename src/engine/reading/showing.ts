import type { Execution } from "../../contract/replies.ts";
import { isClaimable } from "../../kernel/placement.ts";
import { waitsForWorker } from "../../kernel/reading.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { type LaneRecord, laneDefaults, laneKey } from "../../kernel/records/lane.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { addDetails } from "./details.ts";
import { executionView } from "./views.ts";
import { workersBeside } from "./workers-beside.ts";

export interface Found {
	record: ExecutionRecord;
	runner: PartitionRunner;
	/** The copy of its lane that it was found by. */
	lane?: LaneRecord;
}

/** One execution, with what lists leave out. */
export async function showWhole(session: Session, found: Found): Promise<Execution> {
	const [shown] = await showAll(session, [found]);
	const view = shown as Execution;
	const { record, runner } = found;
	await addDetails(runner, record.id, [{ view, failure: record.failure }]);
	return view;
}

export async function showAll(session: Session, found: readonly Found[]): Promise<Execution[]> {
	const laneOf = await lanesBeside(session, found);
	const waiting = found.filter((each) => waitsForWorker(each.record, laneOf(each))).map(({ record }) => record);
	const workersFor = await workersBeside(session, waiting);
	return found.map((each) => {
		const { record, runner } = each;
		return executionView(record, laneOf(each), runner.time.now(), workersFor(record));
	});
}

/** Whether work that waits is held by its lane is not written on it: the copies of the lanes tell, one read a partition. */
export async function lanesBeside(session: Session, found: readonly Found[]): Promise<(found: Found) => LaneRecord> {
	const wanted = new Map<PartitionRunner, Set<string>>();
	for (const { record, runner, lane } of found) {
		if (lane || !isClaimable(record)) continue;
		const keys = wanted.get(runner) ?? new Set();
		wanted.set(runner, keys.add(laneKey(record.namespace, record.lane)));
	}
	const copies = new Map<PartitionRunner, Map<string, LaneRecord>>();
	await Promise.all(
		[...wanted].map(async ([runner, keys]) => {
			copies.set(runner, await readLanes(session, runner, [...keys]));
		}),
	);
	return ({ record, runner, lane }) =>
		lane ?? copies.get(runner)?.get(laneKey(record.namespace, record.lane)) ?? laneDefaults;
}

/** A partition's copies of lanes that were ever changed. */
export async function readLanes(
	session: Session,
	runner: PartitionRunner,
	keys: readonly string[],
): Promise<Map<string, LaneRecord>> {
	const lanes = new Map<string, LaneRecord>();
	if (keys.length === 0) return lanes;
	const { records } = await runner.ask((store, partition) => store.read(partition, keys));
	for (const stored of records) {
		const copy = stored.version > 0 ? session.decodeReadable<LaneRecord>(stored) : undefined;
		if (copy) lanes.set(stored.key, copy);
	}
	return lanes;
}
