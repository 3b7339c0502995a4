import type { Explanation } from "../../contract/replies.ts";
import { explainRecord, type Facts, factsNeeded, type QueueStanding } from "../../kernel/explaining.ts";
import { eligibleQueuePrefix, queueScore, ticketScore } from "../../kernel/placement.ts";
import { shownLaneState, stateAt } from "../../kernel/reading.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { laneDefaults, laneKey } from "../../kernel/records/lane.ts";
import { type SuspensionRecord, suspensionKey } from "../../kernel/records/suspension.ts";
import { fairQueue, type TicketRecord, ticketKey } from "../../kernel/records/ticket.ts";
import { WorkersFor } from "../../kernel/serving.ts";
import { publicState } from "../../kernel/state.ts";
import type { QueuePosition } from "../../store/port.ts";
import { mapBounded } from "../bounded.ts";
import type { Session } from "../calls/session.ts";
import { openChildren } from "../children/open-children.ts";
import { openUpstreams } from "../flows/open-upstreams.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { addDetails } from "./details.ts";
import { guardRefusals } from "./guard-refusals.ts";
import { readLanes } from "./showing.ts";
import { failureView } from "./views.ts";

/** Entries counted one by one, and queues of a partition looked into, before a position is told as "at least". */
const MOST_COUNTED = 10_000;
const MOST_QUEUES = 256;
const QUEUES_AT_ONCE = 8;
/** Most often little stands before it: the first page is short. */
const FIRST_PAGE = 64;
const PAGE = 1000;

/** Works out, from the store and now, why an execution does not run: what is needed is gathered, the rules say what it means. */
export async function explain(session: Session, id: string): Promise<Explanation> {
	const { record, runner } = await session.read(id);
	const key = laneKey(record.namespace, record.lane);
	const lane = (await readLanes(session, runner, [key])).get(key) ?? laneDefaults;
	const now = runner.time.now();
	const facts: Facts = { lane };
	const needed = factsNeeded(record);
	if (needed.workers) facts.workers = await workersFor(session, record);
	if (needed.refusals) facts.refusals = await guardRefusals(session, record);
	if (needed.standing) facts.standing = await standingOf(session, record, runner);
	const suspension = needed.suspension ? await suspensionOf(session, record) : undefined;
	if (suspension) facts.suspension = suspension;
	if (needed.upstreams) facts.upstreams = await openUpstreams(session, record, runner);
	const children = needed.children ? await openChildren(session, record) : undefined;
	if (children) facts.children = children;
	const { reasons, ...explained } = explainRecord(record, facts);
	const told: Pick<Explanation, "failure"> = record.failure ? { failure: failureView(record.failure) } : {};
	await addDetails(runner, id, [{ view: told, failure: record.failure }]);
	return {
		id,
		publicState: publicState(record),
		state: stateAt(record, lane, now),
		summary: reasons[0] ?? "",
		reasons,
		lane: { name: record.lane, state: shownLaneState(lane.state) },
		...(facts.standing ? { position: facts.standing } : undefined),
		...(suspension ? { suspension: suspensionView(record, suspension) } : undefined),
		...explained,
		...told,
		examinedAt: now,
	};
}

async function suspensionOf(session: Session, { id, suspension }: ExecutionRecord) {
	const key = suspensionKey(id, suspension?.number ?? 0);
	const { records } = await session.runnerOf(id).ask((store, partition) => store.read(partition, [key]));
	const [stored] = records;
	return stored && stored.version > 0 ? session.decodeReadable<SuspensionRecord>(stored) : undefined;
}

function suspensionView(
	{ suspension }: ExecutionRecord,
	{ id, reason, condition, waitpoints, since, counted }: SuspensionRecord,
): NonNullable<Explanation["suspension"]> {
	const { timeoutAt, timeoutBehavior, isEscalated } = suspension ?? {};
	return {
		id,
		reason,
		condition,
		waitpoints: waitpoints.map((waitpoint) => ({ ...waitpoint })),
		signals: counted,
		since,
		...(timeoutAt === undefined ? undefined : { timeoutAt }),
		...(timeoutBehavior === undefined ? undefined : { timeoutBehavior }),
		...(isEscalated ? { escalated: true } : undefined),
	};
}

async function workersFor({ engine }: Session, record: ExecutionRecord): Promise<WorkersFor> {
	const workers = new WorkersFor(record);
	await engine.registry.visit(record.namespace, {
		visit: (worker) => workers.see(worker),
		unreadable: (key, error) => engine.fault("a record cannot be read", error, key),
	});
	return workers;
}

/** How much of its lane, in all partitions, would be handed out before it to somebody who can serve everything. */
async function standingOf(session: Session, record: ExecutionRecord, runner: PartitionRunner): Promise<QueueStanding> {
	const place = { score: queueScore(record), key: record.id };
	const hasKey = record.fairnessKey !== "";
	const standing = (hasKey && (await ticketPlace(session, record, runner))) || place;
	const prefix = eligibleQueuePrefix(record.namespace, record.lane);
	let ahead = 0;
	let aheadInKey = 0;
	let isAll = true;
	for (const each of session.engine.runners) {
		if (hasKey) aheadInKey += await countBefore(each, fairQueue(record), place, MOST_COUNTED - aheadInKey);
		const { queues } = await each.ask((store, partition) => store.queues(partition, prefix));
		isAll &&= queues.length <= MOST_QUEUES;
		// What its own key's tickets stand for has been counted.
		const counts = await mapBounded(queues.slice(0, MOST_QUEUES), QUEUES_AT_ONCE, (queue) =>
			countBefore(each, queue, standing, MOST_COUNTED - ahead, ticketKey(record)),
		);
		ahead = Math.min(
			MOST_COUNTED,
			counts.reduce((sum, count) => sum + count, ahead),
		);
	}
	const exact = isAll && ahead < MOST_COUNTED && aheadInKey < MOST_COUNTED;
	return { ahead: ahead + aheadInKey, exact, ...(aheadInKey > 0 ? { aheadInKey } : undefined) };
}

async function ticketPlace(
	session: Session,
	record: ExecutionRecord,
	runner: PartitionRunner,
): Promise<QueuePosition | undefined> {
	const key = ticketKey(record);
	const { records } = await runner.ask((store, partition) => store.read(partition, [key]));
	const [stored] = records;
	const ticket = stored && stored.version > 0 ? session.decodeReadable<TicketRecord>(stored) : undefined;
	return ticket && { key, score: ticketScore(ticket) };
}

async function countBefore(
	runner: PartitionRunner,
	queue: string,
	place: QueuePosition,
	most: number,
	except?: string,
): Promise<number> {
	let count = 0;
	let after: QueuePosition | undefined;
	while (count < most) {
		const page = Math.min(after ? PAGE : FIRST_PAGE, most - count);
		const position = after;
		const { entries } = await runner.ask((store, partition) => store.first(partition, queue, page, position));
		for (const { score, key } of entries) {
			if (score > place.score || (score === place.score && key >= place.key)) return count;
			if (key !== except) count += 1;
		}
		if (entries.length < page) return count;
		after = entries.at(-1);
	}
	return count;
}
