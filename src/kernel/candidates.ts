import { isClaimable, ticketScore } from "./placement.ts";
import { type ExecutionRecord, executionKey } from "./records/execution.ts";
import { amend, type Key } from "./records/record.ts";
import { fairQueue, isTicketKey, type TicketRecord, turnAfter } from "./records/ticket.ts";
import type { Entry, Tx } from "./tx.ts";

/** Candidates looked at beyond what is wanted, so that a few stale entries at the head cost no second call. */
const SPARE = 8;

/** A ticket at work: how far its key's queue was gone through. */
interface Turn {
	key: Key<TicketRecord>;
	record: TicketRecord;
	passed: number;
}

interface Place extends Entry {
	turn?: Turn;
}

/**
 * Goes through the executions that wait in some queues, best first. Keys that take turns are stood for by their tickets:
 * such a key gives one execution, and then stands behind all others of its priority.
 */
export class Candidates {
	readonly #tx: Tx;
	readonly #now: number;
	readonly #wanted: number;
	readonly #places: readonly Place[];
	/** Whether there is nothing in the queues beyond `#places`. */
	readonly #complete: boolean;
	#at = 0;
	/** Tickets that have had a turn and stand further back now, best first. */
	readonly #again: Place[] = [];
	#turn: Turn | undefined;
	/** Where the last candidate stood, for merging what several partitions give. */
	score = 0;
	/** Set once a ticket was found with nothing behind it. */
	cleared = false;

	constructor(tx: Tx, queues: readonly string[], wanted: number, now: number) {
		this.#tx = tx;
		this.#now = now;
		this.#wanted = wanted;
		const count = wanted + SPARE;
		this.#places = bestOf(tx, queues, count);
		this.#complete = this.#places.length < count;
		this.#fetchTogether(this.#places.slice(0, wanted));
	}

	/** The next that can be claimed; undefined when there is none, or none that is known to be the best. */
	next(): ExecutionRecord | undefined {
		for (let place = this.#nextPlace(); place; place = this.#nextPlace()) {
			this.score = place.score;
			this.#turn = undefined;
			if (!isTicketKey(place.key)) {
				const record = this.#claimable(place.key);
				if (record) return record;
				continue;
			}
			const turn = place.turn ?? this.#begin(place.key);
			const record = turn && this.#firstBehind(turn);
			if (!record) continue;
			this.#turn = turn;
			return record;
		}
		return undefined;
	}

	/** The last candidate was taken: its key has had its turn. */
	served(): void {
		const turn = this.#turn;
		if (turn) this.#stepBack(turn, turnAfter(turn.record, this.#now));
	}

	/** The last candidate leaves the queue without being served: its key keeps its turn. */
	setAside(): void {
		const turn = this.#turn;
		if (turn) this.#stepBack(turn, turn.record.turnAt);
	}

	#stepBack(turn: Turn, turnAt: number): void {
		turn.passed += 1;
		const isLeft = this.#tx.first(fairQueue(turn.record), turn.passed + 1).length > turn.passed;
		if (!isLeft) return this.#retire(turn);
		if (turnAt !== turn.record.turnAt) {
			turn.record = amend(turn.record, { turnAt });
			this.#tx.put(turn.key, turn.record);
		}
		const place: Place = { key: turn.key, score: ticketScore(turn.record), turn };
		const behind = this.#again.findIndex((other) => compare(place, other) < 0);
		this.#again.splice(behind < 0 ? this.#again.length : behind, 0, place);
	}

	#retire(turn: Turn): void {
		this.#tx.put(turn.key, amend(turn.record, { idleAt: this.#now, turnAt: turnAfter(turn.record, this.#now) }));
	}

	#nextPlace(): Place | undefined {
		const [again] = this.#again;
		const fresh = this.#places[this.#at];
		if (fresh && (!again || compare(fresh, again) < 0)) {
			this.#at += 1;
			return fresh;
		}
		// Behind what was looked at, others may stand that have not been served yet.
		return fresh || this.#complete ? this.#again.shift() : undefined;
	}

	#begin(key: Key<TicketRecord>): Turn | undefined {
		const record = this.#tx.getReadable(key);
		return record && record.idleAt === 0 ? { key, record, passed: 0 } : undefined;
	}

	#firstBehind(turn: Turn): ExecutionRecord | undefined {
		const queue = fairQueue(turn.record);
		for (;;) {
			const entry = this.#tx.first(queue, turn.passed + 1)[turn.passed];
			if (!entry) {
				this.cleared = true;
				this.#retire(turn);
				return undefined;
			}
			const record = this.#claimable(entry.key);
			if (record) return record;
			turn.passed += 1;
		}
	}

	#claimable(key: string): ExecutionRecord | undefined {
		const record = this.#tx.getReadable(executionKey(key));
		return record && isClaimable(record) ? record : undefined;
	}

	/** What will be read is fetched in a few steps, not one by one. */
	#fetchTogether(places: readonly Place[]): void {
		this.#tx.expect(places.map(({ key }) => key));
		const queues: string[] = [];
		for (const { key } of places) {
			const turn = isTicketKey(key) ? this.#begin(key) : undefined;
			if (turn) queues.push(fairQueue(turn.record));
		}
		if (queues.length === 0) return;
		const share = Math.ceil(this.#wanted / queues.length);
		this.#tx.expectFirst(queues, share + 1);
		this.#tx.expect(queues.flatMap((queue) => this.#tx.first(queue, share).map(({ key }) => key)));
	}
}

const compare = (a: Entry, b: Entry): number => a.score - b.score || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

function bestOf(tx: Tx, queues: readonly string[], count: number): readonly Entry[] {
	if (queues.length === 1 && queues[0] !== undefined) return tx.first(queues[0], count);
	tx.expectFirst(queues, count);
	const lines = queues.map((queue) => ({ entries: tx.first(queue, count), at: 0 }));
	const best: Entry[] = [];
	while (best.length < count) {
		// Each is in order, so the best that is left is the next of one of them.
		let head: Entry | undefined;
		let line: (typeof lines)[number] | undefined;
		for (const other of lines) {
			const entry = other.entries[other.at];
			if (!entry || (head && compare(entry, head) > 0)) continue;
			head = entry;
			line = other;
		}
		if (!head || !line) break;
		best.push(head);
		line.at += 1;
	}
	return best;
}
