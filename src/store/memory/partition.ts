import {
	type Batch,
	type CommitReply,
	DUE,
	type EventEntry,
	type ForgottenOwner,
	hasWrites,
	type IndexEntry,
	isTold,
	type LoggedEvent,
	type LogPosition,
	logSubject,
	MOST_NEWS,
	type News,
	type Notice,
	type QueuePosition,
	type QueueSize,
	type StoredRecord,
	TIME_TOLERANCE_MS,
	type Unit,
	type UnitResult,
} from "../port.ts";
import { RecentBatches } from "../recent-batches.ts";
import { Turns } from "../turns.ts";
import { Watches } from "../watches.ts";
import { SortedSet } from "./sorted-set.ts";

/**
 * One partition, synchronous: what a store must do in one atomic step, written as plainly as possible. The memory store
 * puts promises around it; the simulator puts latency, loss and repetition around it, and overrides single methods to
 * plant bugs.
 */
export class MemoryPartition {
	readonly records = new Map<string, StoredRecord>();
	readonly queues = new Map<string, SortedSet>();
	readonly blobs = new Map<string, Uint8Array>();
	readonly logs = new Map<string, MemoryEvent[]>();
	readonly watches = new Watches();
	/** By log, then by owner or group. */
	readonly #histories = new Map<string, Map<string, MemoryEvent[]>>();
	commits = 0;
	/** High-water mark of time: what was told once is never undercut. */
	time = 0;
	readonly #recent = new RecentBatches();
	readonly #turns = new Turns();
	readonly #index: number;

	constructor(index: number) {
		this.#index = index;
	}

	/** The partition's time, given the clock's. */
	tell(clock: number): number {
		this.time = Math.max(this.time, clock);
		return this.time;
	}

	read(key: string): StoredRecord {
		return this.records.get(key) ?? { key, version: 0, doc: "" };
	}

	first(queue: string, count: number, after?: QueuePosition): QueuePosition[] {
		return this.queues.get(queue)?.first(count, after) ?? [];
	}

	last(queue: string, count: number): QueuePosition[] {
		return this.queues.get(queue)?.last(count) ?? [];
	}

	stands({ queue, key, score }: IndexEntry): boolean {
		return this.queues.get(queue)?.has({ key, score }) ?? false;
	}

	/** Records in the order of their keys; a cursor is the last key of its page. */
	scan(cursor: string | undefined, count: number): { records: StoredRecord[]; cursor?: string } {
		const { keys, ...next } = pageBehind(this.records.keys(), cursor, count);
		return { records: keys.map((key) => this.read(key)), ...next };
	}

	scanBlobs(cursor: string | undefined, count: number): { keys: string[]; cursor?: string } {
		return pageBehind(this.blobs.keys(), cursor, count);
	}

	queueSizes(prefix: string): QueueSize[] {
		return this.queueNames(prefix).map((queue) => ({ queue, size: this.queues.get(queue)?.size ?? 0 }));
	}

	queueNames(prefix: string): string[] {
		return [...this.queues.keys()].filter((name) => name.startsWith(prefix)).sort();
	}

	events(log: string, owner: string | undefined, after: LogPosition | undefined, count: number): LoggedEvent[] {
		const all = owner === undefined ? this.logs.get(log) : this.#histories.get(log)?.get(owner);
		const found: LoggedEvent[] = [];
		for (const { isForgotten: _, isTrimmed, ...event } of all ?? []) {
			if (found.length === count) break;
			if (isBehind(event, after) && !isTrimmed) found.push(event);
		}
		return found;
	}

	/** When the oldest event was whose owner is gone. */
	oldestForgotten(): number | undefined {
		let oldest: number | undefined;
		for (const log of this.logs.values())
			for (const { isForgotten, at } of log) if (isForgotten && at < (oldest ?? Infinity)) oldest = at;
		return oldest;
	}

	trimEvents(before: number): number {
		let trimmed = 0;
		for (const [name, log] of this.logs) {
			for (const event of log) event.isTrimmed = event.isForgotten === true && event.at < before;
			const kept = log.filter(({ isTrimmed }) => !isTrimmed);
			trimmed += log.length - kept.length;
			if (kept.length > 0) this.logs.set(name, kept);
			else this.logs.delete(name);
		}
		return trimmed;
	}

	/** Applies a batch and says what listeners should know of it. */
	commit(batch: Batch, clock: number): { reply: CommitReply; notice: Notice | undefined } {
		const time = this.tell(clock);
		const known = this.recall(batch);
		if (known) return { reply: known, notice: undefined };
		const writes = batch.units.some(hasWrites);
		if (!this.timeFits(batch.at, time)) {
			const reply = { time, commit: this.commits, results: [] };
			// Its engine runs the rules again under a new number: a late copy must not find its time come after all.
			if (writes) this.#recent.remember(batch, reply);
			return { reply, notice: undefined };
		}

		const commit = writes ? this.commits + 1 : this.commits;
		this.commits = commit;
		const notice: Notice = { partition: this.#index, time, queues: [], changed: [] };
		const dueBefore = this.#nextDue();
		let events = 0;
		const results = batch.units.map((unit): UnitResult => {
			const firstEvent = events;
			events += unit.events.length;
			const lost = this.lostOn(unit, batch.engine, time, clock);
			if (lost) return lost;
			this.#apply(unit, commit, firstEvent, notice);
			return { ok: true };
		});
		const due = this.#nextDue();
		const isEarlier = due !== undefined && (dueBefore === undefined || due < dueBefore);
		if (isEarlier && !batch.vouched) notice.due = due;
		const reply = { time, commit, results };
		if (writes) this.#recent.remember(batch, reply);
		const news = notice.queues.length > 0 ? this.#newsOf(batch, reply, notice.queues) : undefined;
		if (news) notice.news = news;
		return {
			reply,
			notice: notice.queues.length || notice.changed.length || notice.due !== undefined ? notice : undefined,
		};
	}

	/** The answer a batch already got; a late copy is not looked at. */
	protected recall(batch: Batch): CommitReply | undefined {
		const known = this.#recent.recall(batch);
		return known === "outdated" ? { time: this.time, commit: 0, results: [] } : known;
	}

	protected timeFits(at: number, time: number): boolean {
		return at <= time && time - at <= TIME_TOLERANCE_MS;
	}

	protected versionFor(_key: string, commit: number): number {
		return commit;
	}

	/** Undefined when the unit may be applied. */
	protected lostOn(unit: Unit, engine: string, time: number, clock: number): UnitResult | undefined {
		const changed = unit.expected.filter(([key, version]) => this.read(key).version !== version).map(([key]) => key);
		const turnLeft = this.#turns.heldByOther(unit, engine, clock);
		if (changed.length === 0 && turnLeft === undefined) {
			this.#turns.used(unit, clock);
			return undefined;
		}
		if (unit.wantsTurn && turnLeft === undefined) this.#turns.take(changed, engine, clock);
		return {
			ok: false,
			current: unit.expected.map(([key]) => this.read(key)),
			...(turnLeft === undefined ? undefined : { turnUntil: time + turnLeft }),
		};
	}

	#apply(unit: Unit, commit: number, firstEvent: number, notice: Notice): void {
		for (const { key, doc } of unit.put) {
			this.records.set(key, { key, version: this.versionFor(key, commit), doc });
			if (this.watches.has(key)) notice.changed.push(key);
		}
		for (const key of unit.removed) {
			this.records.delete(key);
			if (this.watches.has(key)) notice.changed.push(key);
		}
		for (const { queue, key, score } of unit.indexRemoved) {
			const set = this.queues.get(queue);
			set?.remove({ key, score });
			if (set?.size === 0) this.queues.delete(queue);
		}
		for (const { queue, key, score } of unit.indexAdded) {
			let set = this.queues.get(queue);
			if (!set) {
				set = new SortedSet();
				this.queues.set(queue, set);
				if (isTold(queue)) notice.queues.push(queue);
			}
			set.add({ key, score });
		}
		for (const blob of unit.blobs) this.blobs.set(blob.key, new Uint8Array(blob.bytes));
		for (const key of unit.blobsRemoved) this.blobs.delete(key);
		unit.events.forEach((event, n) => {
			this.#append(event, commit, firstEvent + n);
			const subject = logSubject(event.log);
			if (this.watches.has(subject) && !notice.changed.includes(subject)) notice.changed.push(subject);
		});
		for (const owner of unit.forgotten) this.#forget(owner);
	}

	/** What a batch wrote that filled these queues, when it is little. */
	#newsOf({ units }: Batch, { commit, results }: CommitReply, queues: readonly string[]): News | undefined {
		const put = units.flatMap((unit, n) => (results[n]?.ok ? unit.put : []));
		const records = [...new Set(put.map(({ key }) => key))].flatMap((key) => this.records.get(key) ?? []);
		const chars = records.reduce((sum, { doc }) => sum + doc.length, 0);
		const entries = queues.flatMap((queue) =>
			this.first(queue, MOST_NEWS.records).map((entry) => ({ queue, ...entry })),
		);
		const isAll = queues.every((queue) => (this.queues.get(queue)?.size ?? 0) <= MOST_NEWS.records);
		if (!isAll || records.length > MOST_NEWS.records || chars > MOST_NEWS.chars) return undefined;
		const standing = new Set(entries.map(({ key }) => key));
		const told = records.filter(({ key }) => standing.has(key)).map(({ key, doc }) => ({ key, doc }));
		return { commit, entries, records: told };
	}

	#append(event: EventEntry, commit: number, index: number): void {
		const logged: MemoryEvent = { ...event, commit, index };
		addTo(this.logs, event.log, logged);
		let histories = this.#histories.get(event.log);
		if (!histories) this.#histories.set(event.log, (histories = new Map()));
		addTo(histories, event.owner, logged);
		if (event.group !== undefined && event.group !== event.owner) addTo(histories, event.group, logged);
	}

	#forget({ log, owner }: ForgottenOwner): void {
		const histories = this.#histories.get(log);
		for (const event of histories?.get(owner) ?? []) if (event.owner === owner) event.isForgotten = true;
		histories?.delete(owner);
	}

	#nextDue(): number | undefined {
		return this.first(DUE, 1)[0]?.score;
	}
}

/** Its owner may be gone; then it is trimmed when it is old, and may still stand in the history of its group. */
type MemoryEvent = LoggedEvent & { isForgotten?: boolean; isTrimmed?: boolean };

function addTo<T>(lists: Map<string, T[]>, name: string, one: T): void {
	const list = lists.get(name);
	if (list) list.push(one);
	else lists.set(name, [one]);
}

const isBehind = (event: LogPosition, after: LogPosition | undefined): boolean =>
	!after || event.commit > after.commit || (event.commit === after.commit && event.index > after.index);

function pageBehind(
	all: Iterable<string>,
	cursor: string | undefined,
	count: number,
): { keys: string[]; cursor?: string } {
	const keys = [...all].filter((key) => cursor === undefined || key > cursor).sort();
	const page = keys.slice(0, count);
	return { keys: page, ...(keys.length > count ? { cursor: page.at(-1) as string } : undefined) };
}
