import type { EmittedEvent } from "./events.ts";
import type { Blob } from "./payload.ts";
import type { Key } from "./records/record.ts";

/** An entry of an index queue: ascending by score, then by key. */
export interface Entry {
	key: string;
	score: number;
}

/**
 * What a rule sees of the world: a synchronous window on one partition. Reads are remembered with their versions and
 * all of them are checked when the change is committed; writes are buffered, and dropped if the rule refuses.
 */
export interface Tx {
	/** Whether what lives in a slot lives in this partition. */
	isHere(slot: number): boolean;
	get<R extends object>(key: Key<R>): R | undefined;
	/** Like `get`, but a stored record that cannot be read counts as absent: for scans that must not stop at one. */
	getReadable<R extends object>(key: Key<R>): R | undefined;
	/** Whether a record is stored there that cannot be read, so that what rests on it has to be passed over. */
	isUnreadable(key: string): boolean;
	/** Says that these records are about to be read, so that those not in memory are fetched together. */
	expect(keys: readonly string[]): void;
	/** Like `get` for a key that was just minted: taken to be absent without asking the store, checked at commit. */
	getFresh<R extends object>(key: Key<R>): R | undefined;
	put<R extends object>(key: Key<R>, record: R): void;
	remove(key: string): void;
	/** Says that the heads of these queues are about to be read, so that those not in memory are fetched together. */
	expectFirst(queues: readonly string[], count: number): void;
	/** The best `count` entries of a queue. An index tells where to look, never that something does not exist. */
	first(queue: string, count: number): readonly Entry[];
	/**
	 * Every entry of a queue, or the first `most`. Complete only because each rule that adds to the queue also writes the record `guard`,
	 * whose version is checked with everything else.
	 */
	all(queue: string, guard: Key<object>, most?: number): readonly Entry[];
	emit(event: EmittedEvent): void;
	/** Drops the history of an execution that is being removed. */
	forget(execution: { id: string; namespace: string }): void;
	putBlob(blob: Blob): void;
	removeBlob(key: string): void;
}
