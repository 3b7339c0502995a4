import { isTicketKey } from "../../kernel/records/ticket.ts";
import type { Entry } from "../../kernel/tx.ts";

/** Work for one lane in one partition. */
export interface Share {
	partition: number;
	queues: string[];
	count: number;
}

export interface Candidate extends Entry {
	partition: number;
	queue: string;
}

/** Tickets of one key in several partitions: the best stands where it stands, the others where its next turns would be. */
interface Line {
	best: Candidate;
	/** Where the best stands in its own partition. */
	bestThere: number;
	others: number;
}

/** The best entries shown so far, in order, and no more than are wanted. */
export class Picking {
	readonly #wanted: number;
	readonly #found: Candidate[] = [];
	readonly #lines = new Map<string, Line>();

	constructor(wanted: number) {
		this.#wanted = wanted;
	}

	/** Where the best of all stands. */
	get best(): number {
		return this.#found[0]?.score ?? Number.POSITIVE_INFINITY;
	}

	/** Whether something that stands here can be among the best. */
	hasRoomAt(score: number): boolean {
		const worst = this.#found[this.#wanted - 1];
		return !worst || score <= worst.score;
	}

	/** False when it is not among the best, and so neither is anything behind it. */
	add(key: string, score: number, partition: number, queue: string): boolean {
		return this.#insert({ key, score, partition, queue });
	}

	/**
	 * The same for a ticket. One key may have a ticket in every partition: if all of them stood for themselves a key with
	 * work in many would be served once in each before the next key is. `there` is where it stands in its own partition,
	 * `turn` tells where the key stands after so many turns. False when it is not among the best where it stands itself.
	 */
	addTicket(ticket: Candidate, there: number, turn: (served: number) => number): boolean {
		const line = this.#lines.get(ticket.key);
		if (!line) {
			this.#lines.set(ticket.key, { best: ticket, bestThere: there, others: 0 });
			return this.#insert(ticket);
		}
		line.others += 1;
		const later = turn(line.others);
		const { best, bestThere } = line;
		if (ticket.score > best.score || (ticket.score === best.score && there >= bestThere)) {
			this.#insert({ ...ticket, score: Math.max(ticket.score, later) });
			return true;
		}
		const place = this.#found.indexOf(best);
		if (place >= 0) this.#found.splice(place, 1);
		line.best = ticket;
		line.bestThere = there;
		const isIn = this.#insert(ticket);
		if (place >= 0) this.#insert({ ...best, score: Math.max(best.score, later) });
		return isIn;
	}

	#insert(candidate: Candidate): boolean {
		const found = this.#found;
		let place = found.length;
		while (place > 0 && isBefore(candidate, found[place - 1] as Candidate)) place -= 1;
		if (place >= this.#wanted) return false;
		if (place === found.length) found.push(candidate);
		else found.splice(place, 0, candidate);
		if (found.length > this.#wanted) found.length = this.#wanted;
		return true;
	}

	/** A ticket stands for more than itself: what is left to take is spread over the partitions that have one. */
	shares(): Share[] {
		const shares: Share[] = [];
		const deep = new Set<Share>();
		for (const { partition, queue, key } of this.#found) {
			let share = shares.find((other) => other.partition === partition);
			if (!share) shares.push((share = { partition, queues: [], count: 0 }));
			share.count += 1;
			if (isTicketKey(key)) deep.add(share);
			if (!share.queues.includes(queue)) share.queues.push(queue);
		}
		const left = this.#wanted - this.#found.length;
		[...deep].forEach((share, n) => {
			share.count += Math.floor((left + n) / deep.size);
		});
		return shares;
	}
}

const isBefore = ({ score, key }: Candidate, other: Candidate): boolean =>
	score < other.score || (score === other.score && key < other.key);
