import {
	type Batch,
	type CommitReply,
	DUE,
	hasWrites,
	isTold,
	type Notice,
	TIME_TOLERANCE_MS,
	type Unit,
	type UnitResult,
} from "../../port.ts";
import { RecentBatches } from "../../recent-batches.ts";
import { Turns } from "../../turns.ts";
import { RecordTable } from "./record-table.ts";
import type { Statements } from "./statements.ts";
import { toText } from "./text.ts";

/** Names of queues known to hold something; beyond this many they are looked up again. */
const KNOWN_QUEUES = 10_000;

export interface Committed {
	reply: CommitReply;
	notice: Notice | undefined;
}

/**
 * One partition's commits, inside a transaction that the store opens and ends around them. What is kept in memory here
 * was read from the tables or written to them; if the transaction fails, `reload` puts it right again.
 */
export class SqlitePartition {
	readonly records: RecordTable;
	readonly #index: number;
	readonly #run: Statements;
	readonly #clock: () => number;
	readonly #turns = new Turns();
	/** In memory only: an engine lives in the process that owns the file, so nobody is left to send a batch again. */
	readonly #recent = new RecentBatches();
	readonly #filled = new Set<string>();
	#commits = 0;
	#time = 0;
	#due: number | undefined;

	constructor(index: number, statements: Statements, clock: () => number) {
		this.#index = index;
		this.#run = statements;
		this.records = new RecordTable(index, statements);
		this.#clock = clock;
		this.reload();
	}

	/** The partition's time: what was told once is never undercut. */
	tell(): number {
		this.#time = Math.max(this.#time, this.#clock());
		return this.#time;
	}

	get commits(): number {
		return this.#commits;
	}

	reload(): void {
		const head = this.#run.selectHead.get(this.#index);
		this.#commits = head?.commits ?? 0;
		this.#time = Math.max(this.#time, head?.time ?? 0);
		this.#recent.clear();
		this.#filled.clear();
		this.#due = this.#run.firstScore.get(this.#index, DUE);
	}

	/** Keeps the time told by reads since the last commit; called when the store is closed. */
	saveTime(): void {
		this.#run.updateHead.run(this.#commits, this.#time, this.#index);
	}

	commit(batch: Batch): Committed {
		const time = this.tell();
		const known = this.#recent.recall(batch);
		if (known === "outdated") return { reply: { time, commit: this.#commits, results: [] }, notice: undefined };
		if (known) return { reply: known, notice: undefined };
		const writes = batch.units.some(hasWrites);
		if (batch.at > time || time - batch.at > TIME_TOLERANCE_MS) {
			const reply = { time, commit: this.#commits, results: [] };
			if (writes) this.#recent.remember(batch, reply);
			return { reply, notice: undefined };
		}
		const notice: Notice = { partition: this.#index, time, queues: [], changed: [] };
		const results = this.#judgeAll(batch, time, notice);
		const wrote = results.some((result, n) => result.ok && hasWrites(batch.units[n] as Unit));
		if (wrote) this.#commits += 1;
		const reply = { time, commit: this.#commits, results };
		if (writes) this.#recent.remember(batch, reply);
		if (wrote) this.#finish(notice, batch.vouched === true);
		const telling = notice.queues.length > 0 || notice.changed.length > 0 || notice.due !== undefined;
		return { reply, notice: telling ? notice : undefined };
	}

	#judgeAll(batch: Batch, time: number, notice: Notice): UnitResult[] {
		const commit = this.#commits + 1;
		let place = 0;
		this.records.beginBatch();
		return batch.units.map((unit): UnitResult => {
			const firstPlace = place;
			place += unit.events.length;
			const turnLeft = this.#turns.heldByOther(unit, batch.engine, this.#clock());
			if (turnLeft !== undefined || !this.records.write(unit, commit)) {
				return this.#lost(unit, batch.engine, turnLeft === undefined ? undefined : time + turnLeft);
			}
			this.#turns.used(unit, this.#clock());
			this.#writeRest(unit, commit, firstPlace, notice);
			return { ok: true };
		});
	}

	#lost(unit: Unit, engine: string, turnUntil: number | undefined): UnitResult {
		const current = unit.expected.map(([key]) => this.records.read(key));
		if (turnUntil !== undefined) return { ok: false, current, turnUntil };
		if (unit.wantsTurn) {
			const changed = unit.expected.filter(([, version], n) => current[n]?.version !== version);
			this.#turns.take(
				changed.map(([key]) => key),
				engine,
				this.#clock(),
			);
		}
		return { ok: false, current };
	}

	#writeRest(unit: Unit, commit: number, firstPlace: number, notice: Notice): void {
		const run = this.#run;
		const at = this.#index;
		run.index.nextUnit();
		for (const entry of unit.indexRemoved) {
			this.#filled.delete(entry.queue);
			run.index.remove(at, entry);
		}
		for (const entry of unit.indexAdded) {
			this.#noteFilled(entry.queue, notice);
			run.index.add(at, entry);
		}
		for (const { key, bytes } of unit.blobs) run.putBlob.run(at, toText(key), bytes);
		for (const key of unit.blobsRemoved) run.removeBlob.run(at, toText(key));
		let place = firstPlace;
		for (const { log, owner, group = "", body, ...event } of unit.events) {
			if (run.newEvents.full) run.newEvents.flush();
			run.newEvents.add(at, toText(log), commit, place++, event.at, toText(owner), toText(group), toText(body));
		}
		if (unit.forgotten.length === 0) return;
		run.newEvents.flush();
		for (const { owner } of unit.forgotten) {
			run.orphanEvents.run(at, toText(owner));
			run.leaveGroup.run(at, toText(owner));
		}
	}

	/**
	 * A queue is looked up when it was not known to hold something. Removals may still wait to be written then, so one
	 * that was emptied and filled within a batch may go untold: whoever read it before or after found work in it.
	 */
	#noteFilled(queue: string, notice: Notice): void {
		if (this.#filled.has(queue)) return;
		if (this.#filled.size >= KNOWN_QUEUES) this.#filled.clear();
		this.#filled.add(queue);
		if (!isTold(queue) || notice.queues.includes(queue)) return;
		if (this.#run.firstScore.get(this.#index, toText(queue)) === undefined) notice.queues.push(queue);
	}

	/** Brings the batch's last rows into the tables. */
	#finish(notice: Notice, vouched: boolean): void {
		this.#run.index.flush();
		this.#run.newEvents.flush();
		this.#run.updateHead.run(this.#commits, this.#time, this.#index);
		const due = this.#run.firstScore.get(this.#index, DUE);
		const isEarlier = due !== undefined && (this.#due === undefined || due < this.#due);
		if (isEarlier && !vouched) notice.due = due;
		this.#due = due;
	}
}
