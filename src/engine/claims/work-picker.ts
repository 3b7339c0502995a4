import { timeOfId } from "../../kernel/ids.ts";
import { ticketScore } from "../../kernel/placement.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import type { Key } from "../../kernel/records/record.ts";
import { isTicketKey, type TicketRecord, ticketDefaults, ticketKey, turnAfter } from "../../kernel/records/ticket.ts";
import { ticketFor } from "../../kernel/tickets.ts";
import type { Entry } from "../../kernel/tx.ts";
import type { AdmissionRound } from "../admission/admissions.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import type { PartitionScan } from "./partition-scan.ts";
import { Picking, type Share } from "./picking.ts";
import type { Wanted, WorkHints } from "./work-hints.ts";

/** One claim's search for work, and how many partitions could be asked. */
export interface ClaimSearch {
	readonly wanted: Wanted;
	readonly instanceId: string;
	answered: number;
	failed: number;
	/** How many of all that were asked did not answer and were passed over. */
	skipped: number;
	/** What budgets and quotas have said so far. */
	admission: AdmissionRound | undefined;
	/** Why some of them could not be asked: then nobody can say that there is no work. */
	unasked: unknown;
	/** Partitions that did not give what they were asked for. */
	passedOver: Set<number> | undefined;
	/** How often entries that led nowhere may still be passed. */
	passes: number;
	/** Whether it looks at others' work although there is some of this engine's own. */
	everywhere: boolean;
	/** Whether it is content with what is known here, without asking the store. */
	onlyKnown: boolean;
	/** Whether it leaves before it could be told of work: then it takes whatever is stored, and asks the store for it. */
	readonly hurried: boolean;
	/** Whether it has waited with leases in hand for more, in vain: then it is content with those. */
	overdue: boolean;
}

/** What a claim wants from one lane. */
export interface LaneQuery {
	search: ClaimSearch;
	lane: string;
	wanted: number;
	/** Only from queues whose best has waited for so many milliseconds. */
	age: number;
	/** Whether others write there all the time: what is read of a queue is soon out of date, so no more than is wanted. */
	far: boolean;
	/** What the store said of queues, by partition and name. */
	probed: Map<number, Map<string, readonly Entry[]>>;
	/** How many queues may still be looked into. */
	looks: number;
}

export type QueueAt = [partition: number, queue: string];

export interface WorkPickerOptions {
	runners: readonly PartitionRunner[];
	hints: WorkHints;
	scan: PartitionScan;
	/** A queue was passed over because its best is too new; it must not be hot any more. */
	onTooNew(partition: number, queue: string): void;
}

const MOST_TURNS = 4096;
/** Keys that were served elsewhere, behind which is looked for others. */
const MOST_PASSED = 32;

/** Work that differs by no more than this in age is as good, where one can be had sooner. */
const ALIKE_MS = 50;

/** Picks the best work for claims out of what is known of hot queues, or says which of them have to be looked into. */
export class WorkPicker {
	readonly #options: WorkPickerOptions;
	/** When keys had their latest turn, wherever that was; a ticket has one name in all partitions. */
	readonly #turns = new Map<string, TicketRecord>();
	/** Claims that are taking from a partition, and from all together. */
	readonly #takers: number[] = [];
	#taking = 0;

	constructor(options: WorkPickerOptions) {
		this.#options = options;
	}

	/** The best there is, or the queues that have to be looked into first. */
	pick(query: LaneQuery, partitions: readonly number[]): Picking | QueueAt[] {
		const { search, wanted } = query;
		const nearest = this.#options.scan.nearest(search.instanceId, partitions);
		const first = wanted > 1 ? this.#firstOf(query, nearest) : undefined;
		const picking = new Picking(wanted);
		// Each has its share of the looks: where there are thousands of queues they hide no other partition.
		const looks = search.onlyKnown ? 0 : Math.ceil(query.looks / Math.max(1, nearest.length));
		let unknown: QueueAt[] | undefined;
		for (const partition of nearest) {
			const later = this.#latenessOf(partition) - (partition === first ? ALIKE_MS : 0);
			for (const queue of this.#pickFrom(query, partition, looks, picking, later))
				(unknown ??= []).push([partition, queue]);
		}
		return unknown ?? picking;
	}

	/** Whether there are queues that nobody has looked into for this claim. */
	hasMore({ search, lane, probed }: LaneQuery, partitions: readonly number[]): boolean {
		const { namespace, offer } = search.wanted;
		const { hints, scan } = this.#options;
		return scan.nearest(search.instanceId, partitions).some((partition) => {
			const unknown = hints.order(namespace, lane, partition, offer)?.unknown ?? 0;
			return unknown > (probed.get(partition)?.size ?? 0);
		});
	}

	/**
	 * The partition with the best of all. Whoever wants several takes those behind it too, though what lies elsewhere may
	 * be a little older: from one partition they come in one commit, and end in one (measured on Valkey with 4 partitions:
	 * commits a quarter larger, 1.2 × the lifecycles).
	 */
	#firstOf({ search, lane }: LaneQuery, partitions: readonly number[]): number | undefined {
		const { namespace, offer } = search.wanted;
		const { hints, runners } = this.#options;
		const best = new Picking(1);
		for (const partition of partitions) {
			const head = hints.order(namespace, lane, partition, offer)?.at(0);
			if (!head) continue;
			const key = runners[partition]?.heads.peek(head.queue)?.key ?? "";
			best.add(key, head.score + this.#latenessOf(partition), partition, head.queue);
		}
		return best.shares()[0]?.partition;
	}

	/** These shares are being taken, or no longer. */
	count(shares: readonly Share[], step: 1 | -1): void {
		for (const { partition } of shares) this.#takers[partition] = (this.#takers[partition] ?? 0) + step;
		this.#taking += step * shares.length;
	}

	/** An execution was given out: its key has had its turn in every partition, as far as this engine's claims go. */
	served(record: ExecutionRecord): void {
		if (record.fairnessKey === "" || this.#options.runners.length === 1) return;
		const key = ticketKey(record);
		const now = this.#options.runners[0]?.time.now() ?? 0;
		const { turnAt } = this.#turns.get(key) ?? ticketDefaults;
		this.#turns.delete(key);
		const [oldest] = this.#turns.size >= MOST_TURNS ? this.#turns.keys() : [];
		if (oldest !== undefined) this.#turns.delete(oldest);
		this.#turns.set(key, ticketFor(record, turnAfter({ turnAt }, now)));
	}

	/**
	 * Picks the best entries of a lane in one partition out of as few queues as will do. Returns queues that have to be
	 * looked into first, no more than `looks`: of thousands whose heads are not known others are looked into every time,
	 * so that none waits for ever, and the best of what is known is taken meanwhile.
	 */
	#pickFrom(query: LaneQuery, partition: number, looks: number, picking: Picking, later: number): readonly string[] {
		const { search, lane, wanted, age } = query;
		const { namespace, offer } = search.wanted;
		const { hints, runners, onTooNew } = this.#options;
		const { heads } = runners[partition] as PartitionRunner;
		const order = hints.order(namespace, lane, partition, offer);
		if (!order) return [];
		const probed = query.probed.get(partition);
		const isProbed = (queue: string): boolean => probed?.has(queue) === true;
		const unknown =
			looks > 0 && order.unknown > 0
				? hints.unknown(namespace, lane, partition, offer, looks).filter((queue) => !isProbed(queue))
				: [];
		const offerEntries = (queue: string, entries: readonly Entry[]): boolean => {
			if (age > 0 && this.#isYounger(age, partition, entries[0])) {
				// It is no longer in the order then.
				onTooNew(partition, queue);
				return false;
			}
			this.#show(picking, entries, wanted, partition, queue, later);
			return true;
		};
		for (const [queue, entries] of probed ?? []) {
			if (!heads.peek(queue) && entries.length > 0 && order.has(queue)) offerEntries(queue, entries);
		}
		for (let n = order.unknown; ; n++) {
			const place = order.at(n);
			if (!place || !picking.hasRoomAt(place.score + later)) return unknown;
			const { queue } = place;
			const known = heads.seen(queue, wanted);
			const entries = known && known.length > 0 ? known : probed?.get(queue);
			if (entries) {
				if (!offerEntries(queue, entries)) n -= 1;
			} else if (unknown.length < looks) unknown.push(queue);
			else if (!search.onlyKnown) this.#show(picking, heads.known(queue, wanted), wanted, partition, queue, later);
		}
	}

	#show(
		picking: Picking,
		entries: readonly Entry[],
		most: number,
		partition: number,
		queue: string,
		later: number,
	): void {
		let left = most;
		for (let n = 0; left > 0 && n < entries.length && n < most + MOST_PASSED; n++) {
			const { key, score } = entries[n] as Entry;
			if (!isTicketKey(key)) {
				if (!picking.add(key, score + later, partition, queue)) return;
				left -= 1;
				continue;
			}
			const served = this.#turns.get(key);
			const own = served ? Math.max(score, ticketScore(served)) : score;
			const after = (turns: number): number => later + this.#placeAfter(turns, partition, key, own);
			const isIn = picking.addTicket({ key, score: own + later, partition, queue }, score, after);
			// What stands behind a key that was served elsewhere may come before it.
			if (own > score) continue;
			if (!isIn) return;
			left -= 1;
		}
	}

	/** Where a key with tickets in several partitions stands after so many more turns. */
	#placeAfter(turns: number, partition: number, key: Key<TicketRecord>, own: number): number {
		const runner = this.#options.runners[partition] as PartitionRunner;
		const ticket = this.#turns.get(key) ?? runner.known(key);
		return ticket ? ticketScore({ ...ticket, turnAt: turnAfter(ticket, runner.time.now(), turns) }) : own;
	}

	/**
	 * By how much work counts as younger because of where it is, while other claims are being served. Behind a commit on
	 * its way, or another claim, it would have to wait, and what is hardly younger elsewhere can go out meanwhile; with a
	 * commit that is being gathered it goes out at no cost. So the claims of a busy engine come to use several partitions
	 * in turn, and neither the engine nor the store waits for the other (measured on Valkey: 1.4 × the lifecycles of
	 * claims that all follow the very best). A claim by itself always follows the very best.
	 */
	#latenessOf(partition: number): number {
		if (this.#taking === 0) return 0;
		const { isCommitting, gathered } = this.#options.runners[partition] as PartitionRunner;
		if (isCommitting || (this.#takers[partition] ?? 0) > 0) return ALIKE_MS;
		return gathered > 0 ? -ALIKE_MS : 0;
	}

	/** Whether the best of another engine's work is so new that it may be about to be taken. */
	#isYounger(age: number, partition: number, head: Entry | undefined): boolean {
		const now = this.#options.runners[partition]?.time.now() ?? 0;
		// How long work behind a ticket has waited its head does not tell.
		return head !== undefined && !isTicketKey(head.key) && now - timeOfId(head.key) < age;
	}
}
