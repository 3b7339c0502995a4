import type { ExecutionEvent } from "../kernel/events.ts";
import type { Blob } from "../kernel/payload.ts";
import type { Key } from "../kernel/records/record.ts";
import type { Entry, Tx } from "../kernel/tx.ts";
import type { QueueHeads } from "./queue-heads.ts";
import type { CachedRecord, RecordCache } from "./record-cache.ts";

/** Thrown through a rule that asked for something not in memory; what it needs is in the transaction. */
export const MISS = Symbol("a record or queue is not in memory");

/** A stored document that cannot be read, met by a rule that cannot do without it. */
export class CorruptRecordError extends Error {
	override name = "CorruptRecordError";
	readonly key: string;
	constructor(key: string, why: string) {
		super(why);
		this.key = key;
	}
}

/**
 * A whole queue as it was read after its guard record had this version. Whatever is added later changes the guard, so
 * the scan is complete for as long as the guard has not changed.
 */
export interface Scan {
	entries: readonly Entry[];
	guardVersion: number;
}

/** One run of one rule over what is in memory: remembers what was read, buffers what is written. */
export class Transaction implements Tx {
	readonly reads = new Map<string, number>();
	readonly looked = new Set<string>();
	readonly writes = new Map<string, object | undefined>();
	readonly events: ExecutionEvent[] = [];
	readonly forgotten: string[] = [];
	readonly blobs: Blob[] = [];
	readonly blobsRemoved: string[] = [];
	readonly missingKeys = new Set<string>();
	readonly missingQueues = new Map<string, number>();
	/** Queues to be scanned whole, with the record that guards them. */
	readonly missingScans = new Map<string, string>();
	readonly #cache: RecordCache;
	readonly #heads: QueueHeads;
	readonly #scans: ReadonlyMap<string, Scan>;

	constructor(cache: RecordCache, heads: QueueHeads, scans: ReadonlyMap<string, Scan>) {
		this.#cache = cache;
		this.#heads = heads;
		this.#scans = scans;
	}

	get<R extends object>(key: Key<R>): R | undefined {
		if (this.writes.has(key)) return this.writes.get(key) as R | undefined;
		const entry = this.#entry(key);
		if (entry.corrupt !== undefined) throw new CorruptRecordError(key, entry.corrupt);
		return entry.record as R | undefined;
	}

	getReadable<R extends object>(key: Key<R>): R | undefined {
		if (this.writes.has(key)) return this.writes.get(key) as R | undefined;
		return this.#entry(key).record as R | undefined;
	}

	getFresh<R extends object>(key: Key<R>): R | undefined {
		if (this.writes.has(key) || this.#cache.get(key)) return this.get(key);
		this.reads.set(key, 0);
		return undefined;
	}

	expect(keys: readonly string[]): void {
		for (const key of keys) if (!this.writes.has(key) && !this.#cache.get(key)) this.missingKeys.add(key);
		if (this.missingKeys.size > 0) throw MISS;
	}

	put<R extends object>(key: Key<R>, record: R): void {
		this.writes.set(key, record);
	}

	remove(key: string): void {
		this.writes.set(key, undefined);
	}

	first(queue: string, count: number): readonly Entry[] {
		const entries = this.#heads.first(queue, count);
		if (!entries) {
			this.missingQueues.set(queue, count);
			throw MISS;
		}
		this.looked.add(queue);
		return entries;
	}

	all(queue: string, guard: Key<object>): readonly Entry[] {
		this.get(guard);
		const scan = this.#scans.get(queue);
		const entry = this.#entry(guard);
		if (!scan || scan.guardVersion !== entry.version || entry.unit) {
			this.missingScans.set(queue, guard);
			throw MISS;
		}
		return scan.entries;
	}

	emit(event: ExecutionEvent): void {
		this.events.push(event);
	}

	forget(executionId: string): void {
		this.forgotten.push(executionId);
	}

	putBlob(blob: Blob): void {
		this.blobs.push(blob);
	}

	removeBlob(key: string): void {
		this.blobsRemoved.push(key);
	}

	/** A refusal writes nothing. */
	dropWrites(): void {
		this.writes.clear();
		this.events.length = 0;
		this.forgotten.length = 0;
		this.blobs.length = 0;
		this.blobsRemoved.length = 0;
	}

	#entry(key: string): CachedRecord {
		const entry = this.#cache.get(key);
		if (!entry) {
			this.missingKeys.add(key);
			throw MISS;
		}
		this.reads.set(key, entry.version);
		return entry;
	}
}
