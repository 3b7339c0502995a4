import { isTicketKey } from "../../kernel/records/ticket.ts";
import type { Entry } from "../../kernel/tx.ts";

/** Work for one lane in one partition. */
export interface Share {
	partition: number;
	queues: string[];
	count: number;
}

interface Candidate extends Entry {
	partition: number;
	queue: string;
}

/** The best entries shown so far, in order, and no more than are wanted. */
export class Picking {
	readonly #wanted: number;
	readonly #found: Candidate[] = [];

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
		const found = this.#found;
		let place = found.length;
		while (place > 0 && isBefore(score, key, found[place - 1] as Candidate)) place -= 1;
		if (place >= this.#wanted) return false;
		const candidate = { key, score, partition, queue };
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

const isBefore = (score: number, key: string, other: Candidate): boolean =>
	score < other.score || (score === other.score && key < other.key);
