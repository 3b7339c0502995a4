import type { Clock } from "../contract/clock.ts";

/** All that an engine survives and tells of, each in the same words every time. */
export type FaultClass =
	| "a record cannot be read"
	| "a record cannot be read, so its index entries are left alone"
	| "blocked work could not be checked"
	| "blocked work could not be moved"
	| "events could not be trimmed"
	| "flows do not match the state of their members"
	| "flows could not be checked"
	| "index entries were repaired"
	| "items that keep failing are parked for a minute"
	| "this engine could not announce itself to the others"
	| "partitions that cannot be read are skipped"
	| "slots and reservations were corrected"
	| "the index could not be checked"
	| "the key of cursors could not be read"
	| "the key of cursors could not be used and was replaced; earlier cursors are lost"
	| "the keyring could not be read"
	| "the keyring was incomplete and has been repaired"
	| "the names in use could not be counted"
	| "the store refuses changes"
	| "the sweep failed and will be repeated"
	| "the given waitpoint secret differs from the stored one; the stored one is used"
	| "a due item failed and will be retried"
	| "due items could not be seen to"
	| "held slots and reservations could not be checked"
	| "workers could not be kept registered";

/** A line about one class of faults. */
export interface Fault {
	/** Which class; once it has not happened for a while also that this is over. */
	about: string;
	/** The latest of them; undefined when there is nothing to add. */
	error: unknown;
	/** How often since the last line. */
	count: number;
	/** What it befell, as keys of records or partitions: the latest few. */
	subjects: readonly string[];
}

export interface FaultLogOptions {
	clock: Clock;
	/** Counts every one. */
	count(): void;
	/** Told of a class now and then. */
	tell(fault: Fault): void;
}

/** How soon it is told of a class again, and how long it must not have happened to be over. */
const AGAIN_MS = 60_000;
const MOST_SUBJECTS = 10;

interface Standing {
	error: unknown;
	/** Since the last line. */
	count: number;
	subjects: string[];
	/** Whether it has happened since the first line. */
	hasRecurred: boolean;
	disarm: () => void;
}

/**
 * What an engine says of faults: at most one line a minute for each class, with how often it happened. A store that is
 * gone fails every partition, timer and claim, again and again: a line for each would bury what else there is to read.
 */
export class FaultLog {
	readonly #options: FaultLogOptions;
	readonly #classes = new Map<FaultClass, Standing>();
	#closed = false;

	constructor(options: FaultLogOptions) {
		this.#options = options;
	}

	report(about: FaultClass, error?: unknown, subjects: readonly string[] = [], count = 1): void {
		if (this.#closed) return;
		this.#options.count();
		const known = this.#classes.get(about);
		if (!known) {
			const disarm = this.#later(about);
			this.#classes.set(about, { error, count: 0, subjects: [], hasRecurred: false, disarm });
			return this.#options.tell({ about, error, count, subjects: subjects.slice(0, MOST_SUBJECTS) });
		}
		known.error = error;
		known.count += count;
		known.hasRecurred = true;
		for (const subject of subjects.slice(0, MOST_SUBJECTS)) note(known.subjects, subject);
	}

	/** Tells what it has yet to tell. */
	close(): void {
		this.#closed = true;
		for (const [about, { error, count, subjects, disarm }] of this.#classes) {
			disarm();
			if (count > 0) this.#options.tell({ about, error, count, subjects });
		}
		this.#classes.clear();
	}

	#later(about: FaultClass): () => void {
		return this.#options.clock.setTimer(AGAIN_MS, () => this.#tellAgain(about));
	}

	#tellAgain(about: FaultClass): void {
		const standing = this.#classes.get(about);
		if (!standing) return;
		const { error, count, subjects, hasRecurred } = standing;
		if (count > 0) {
			this.#classes.set(about, { ...standing, count: 0, subjects: [], disarm: this.#later(about) });
			return this.#options.tell({ about, error, count, subjects });
		}
		this.#classes.delete(about);
		if (hasRecurred) this.#options.tell({ about: `${about}: not any more`, error: undefined, count: 0, subjects: [] });
	}
}

function note(subjects: string[], subject: string): void {
	const place = subjects.indexOf(subject);
	if (place >= 0) subjects.splice(place, 1);
	subjects.push(subject);
	if (subjects.length > MOST_SUBJECTS) subjects.shift();
}

/** What an error says, and what its causes add to that; where it was thrown is of no use to who reads of a store that is gone. */
export function wordsOf(error: unknown): string {
	const words: string[] = [];
	for (let cause = error; cause !== undefined && words.length < MOST_SUBJECTS; ) {
		const message = cause instanceof Error ? cause.message : String(cause);
		if (!words.some((word) => word.includes(message))) words.push(message);
		cause = cause instanceof Error ? cause.cause : undefined;
	}
	return words.join(": ");
}

/** A fault in one line of text. */
export function faultLine({ about, error, count, subjects }: Fault): string {
	const times = count > 1 ? ` (${count} times)` : "";
	const what = subjects.length > 0 ? ` [${subjects.join(", ")}]` : "";
	return `${about}${times}${what}${error === undefined ? "" : `: ${wordsOf(error)}`}`;
}
