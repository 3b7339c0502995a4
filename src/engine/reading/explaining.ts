import type { Explanation } from "../../contract/replies.ts";
import { canServe, describeLack, offersAll } from "../../kernel/matching.ts";
import { eligibleQueuePrefix, isClaimable, queueScore, ticketScore } from "../../kernel/placement.ts";
import { describeBlocking, stateAt } from "../../kernel/reading.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { type LaneRecord, laneDefaults, laneKey, shownLaneState } from "../../kernel/records/lane.ts";
import { fairQueue, type TicketRecord, ticketKey } from "../../kernel/records/ticket.ts";
import type { WorkerRecord } from "../../kernel/records/worker.ts";
import { publicState } from "../../kernel/state.ts";
import type { QueuePosition } from "../../store/port.ts";
import { mapBounded } from "../bounded.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { readLanes } from "./showing.ts";

/** Entries counted one by one, and queues of a partition looked into, before a position is told as "at least". */
const MOST_COUNTED = 10_000;
const MOST_QUEUES = 256;
const QUEUES_AT_ONCE = 8;
/** Most often little stands before it: the first page is short. */
const FIRST_PAGE = 64;
const PAGE = 1000;

/** Works out, from the store and now, why an execution does not run. */
export async function explain(session: Session, id: string): Promise<Explanation> {
	const { record, runner } = await session.read(id);
	const key = laneKey(record.namespace, record.lane);
	const lane = (await readLanes(session, runner, [key])).get(key) ?? laneDefaults;
	const now = runner.time.now();
	const explanation: Explanation = {
		id,
		publicState: publicState(record),
		state: stateAt(record, lane, now),
		summary: "",
		reasons: [],
		lane: { name: record.lane, state: shownLaneState(lane.state) },
		examinedAt: now,
	};
	if (record.lifecyclePhase === "runnable") await explainWaiting(session, record, runner, lane, explanation);
	else explanation.reasons.push(describeOther(record));
	explanation.summary = explanation.reasons[0] ?? "";
	return explanation;
}

function describeOther({
	lifecyclePhase,
	lease,
	cancel,
	terminalOutcome,
	completedAt,
	failure,
}: ExecutionRecord): string {
	if (lifecyclePhase === "active" && lease) {
		const until = new Date(lease.expiresAt).toISOString();
		const asked = cancel ? "; it was asked to stop" : "";
		return `it runs on ${lease.instanceId}, under a lease until ${until}${asked}`;
	}
	const why = failure ? `: ${failure.reason}` : "";
	return `it ended ${terminalOutcome === "success" ? "well" : terminalOutcome} at ${new Date(completedAt).toISOString()}${why}`;
}

async function explainWaiting(
	session: Session,
	record: ExecutionRecord,
	runner: PartitionRunner,
	lane: LaneRecord,
	explanation: Explanation,
): Promise<void> {
	const { reasons } = explanation;
	const waits = isClaimable(record);
	const isRoute = record.eligibilityState === "blocked_by_route";
	if (!waits && !isRoute) reasons.push(describeBlocking(record, lane));
	if (lane.state === "paused") reasons.push(`lane ${record.lane} is paused`);
	const { engine } = session;
	const workers = new WorkersFor(record);
	await engine.registry.visit(record.namespace, {
		visit: (worker) => workers.see(worker),
		unreadable: (key, error) => engine.fault(`record ${key} cannot be read`, error),
	});
	const { live, able } = workers;
	explanation.workers = { live, able };
	const lack = workers.missing();
	if (lack) {
		explanation.missingCapabilities = lack;
		reasons.push(describeLack(record.requiredCapabilities, [{ capabilities: [...workers.offered] }]));
	} else if (isRoute) reasons.push("a worker that can serve it has come; it is about to be released");
	else if (live > 0 && able === 0) reasons.push(`no live worker takes kind ${record.kind} on lane ${record.lane}`);
	if (!waits) return;
	explanation.position = await positionOf(session, record, runner);
	const { ahead, exact, aheadInKey } = explanation.position;
	const count = `${exact ? "" : "at least "}${ahead}`;
	reasons.push(
		ahead === 0
			? `it is next on lane ${record.lane}${live === 0 ? ", and no worker is registered" : ""}`
			: `${count} stand before it on lane ${record.lane}`,
	);
	if (aheadInKey) reasons.push(`${aheadInKey} of its fairness key ${record.fairnessKey} come before it`);
}

/** What the workers that are there mean to an execution; each is looked at once and let go. */
class WorkersFor {
	readonly #record: ExecutionRecord;
	/** Of what it requires, that which somebody offers. */
	readonly offered = new Set<string>();
	live = 0;
	able = 0;
	#isOffered = false;

	constructor(record: ExecutionRecord) {
		this.#record = record;
	}

	see(worker: WorkerRecord): void {
		const { lane, requiredCapabilities } = this.#record;
		this.live += 1;
		if (worker.lanes.includes(lane) && canServe(worker, this.#record)) this.able += 1;
		this.#isOffered ||= offersAll(worker.capabilities, requiredCapabilities);
		for (const token of requiredCapabilities) if (worker.capabilities.includes(token)) this.offered.add(token);
	}

	/** What nobody offers, or all that is required when nobody offers it together; undefined when somebody does. */
	missing(): string[] | undefined {
		const { requiredCapabilities } = this.#record;
		if (requiredCapabilities.length === 0 || this.#isOffered) return undefined;
		const missing = requiredCapabilities.filter((token) => !this.offered.has(token));
		return missing.length > 0 ? missing : [...requiredCapabilities];
	}
}

/** How much of its lane, in all partitions, would be handed out before it to somebody who can serve everything. */
async function positionOf(
	session: Session,
	record: ExecutionRecord,
	runner: PartitionRunner,
): Promise<NonNullable<Explanation["position"]>> {
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
