import type { EmittedEvent } from "../../kernel/events.ts";
import type { Blob } from "../../kernel/payload.ts";
import type { Key } from "../../kernel/records/record.ts";
import type { Entry, Tx } from "../../kernel/tx.ts";
import type { ForgottenOwner } from "../../store/port.ts";
import type { QueueHeads } from "./queue-heads.ts";
import type { CachedRecord, RecordCache } from "./record-cache.ts";

const NONE: readonly never[] = [];

/** Thrown through a rule that asked for something not in memory; what it needs is in the transaction. */
export const MISS = Symbol("a record or queue is not in memory");

/** A stored document that cannot be read, met by a rule that cannot do without it. */
export class CorruptRecordError extends Error {
	override name = "CorruptRecordError";
	readonly key: string;
	constructor(key: string, cause: unknown) {
		super(`record ${key} cannot be read`, { cause });
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
	/** How many entries were asked for. */
	most: number;
}

/** A record as a rule left it; undefined when it removed it. */
export interface WrittenRecord {
	key: string;
	record: object | undefined;
	/** What was in memory before: looking it up again would cost as much as the rule. */
	known: CachedRecord | undefined;
}

/** Most rules touch a handful of records; only those of flows come to more. */
const FEW = 16;

/**
 * One run of one rule over what is in memory: remembers what was read, buffers what is written. There is one for every
 * command, so it makes nothing before it is needed, and lists are searched: a rule touches few records.
 */
export class Transaction implements Tx {
	/** Which slots belong to the partition. */
	readonly isHere: (slot: number) => boolean;
	readonly reads: [key: string, version: number][] = [];
	/** What was in memory of each record read, in the same order. */
	readonly found: (CachedRecord | undefined)[] = [];
	readonly writes: WrittenRecord[] = [];
	readonly events: EmittedEvent[] = [];
	looked: readonly string[] = NONE;
	forgotten: readonly ForgottenOwner[] = NONE;
	blobs: readonly Blob[] = NONE;
	blobsRemoved: readonly string[] = NONE;
	missingKeys: readonly string[] = NONE;
	missingQueues: readonly { queue: string; count: number }[] = NONE;
	/** Queues to be scanned whole, with the record that guards them. */
	missingScans: readonly { queue: string; guard: string; most: number }[] = NONE;
	readonly #cache: RecordCache;
	readonly #heads: QueueHeads;
	readonly #scans: ReadonlyMap<string, Scan>;
	/** Where in the lists something is, once there is more than is quickly looked through. */
	#readPlaces: Map<string, number> | undefined;
	#writtenByKey: Map<string, WrittenRecord> | undefined;

	constructor(
		isHere: (slot: number) => boolean,
		cache: RecordCache,
		heads: QueueHeads,
		scans: ReadonlyMap<string, Scan>,
	) {
		this.isHere = isHere;
		this.#cache = cache;
		this.#heads = heads;
		this.#scans = scans;
	}

	get<R extends object>(key: Key<R>): R | undefined {
		const written = this.#written(key);
		if (written) return written.record as R | undefined;
		const entry = this.#entry(key);
		if (entry.corrupt !== undefined) throw new CorruptRecordError(key, entry.corrupt);
		return entry.record as R | undefined;
	}

	getReadable<R extends object>(key: Key<R>): R | undefined {
		const written = this.#written(key);
		return (written ?? this.#entry(key)).record as R | undefined;
	}

	isUnreadable(key: string): boolean {
		return !this.#written(key) && this.#entry(key).corrupt !== undefined;
	}

	getFresh<R extends object>(key: Key<R>): R | undefined {
		if (this.#written(key) || this.#cache.get(key)) return this.get(key);
		this.#read(key, 0, undefined);
		return undefined;
	}

	expect(keys: readonly string[]): void {
		const missing = keys.filter((key) => !this.#cache.get(key) && !this.#written(key));
		if (missing.length === 0) return;
		this.missingKeys = missing;
		throw MISS;
	}

	put<R extends object>(key: Key<R>, record: R): void {
		this.#write(key, record);
	}

	remove(key: string): void {
		this.#write(key, undefined);
	}

	first(queue: string, count: number): readonly Entry[] {
		const entries = this.#heads.first(queue, count);
		if (!entries) {
			this.missingQueues = [{ queue, count }];
			throw MISS;
		}
		this.looked = [...this.looked, queue];
		return entries;
	}

	expectFirst(queues: readonly string[], count: number): void {
		const missing = queues.filter((queue) => !this.#heads.seen(queue, count));
		if (missing.length === 0) return;
		this.missingQueues = missing.map((queue) => ({ queue, count }));
		throw MISS;
	}

	all(queue: string, guard: Key<object>, most = Number.POSITIVE_INFINITY): readonly Entry[] {
		const scan = this.#scans.get(queue);
		const entry = this.#cache.get(guard);
		if (!scan || !entry || scan.guardVersion !== entry.version || scan.most < most || entry.unit) {
			this.missingScans = [{ queue, guard, most }];
			throw MISS;
		}
		this.#read(guard, entry.version, entry);
		return scan.entries;
	}

	emit(event: EmittedEvent): void {
		this.events.push(event);
	}

	forget({ id, namespace }: { id: string; namespace: string }): void {
		this.forgotten = [...this.forgotten, { log: namespace, owner: id }];
	}

	putBlob(blob: Blob): void {
		this.blobs = [...this.blobs, blob];
	}

	removeBlob(key: string): void {
		this.blobsRemoved = [...this.blobsRemoved, key];
	}

	/** A refusal writes nothing. */
	dropWrites(): void {
		this.writes.length = 0;
		this.#writtenByKey = undefined;
		this.events.length = 0;
		this.forgotten = NONE;
		this.blobs = NONE;
		this.blobsRemoved = NONE;
	}

	#entry(key: string): CachedRecord {
		const entry = this.#cache.get(key);
		if (!entry) {
			this.missingKeys = [key];
			throw MISS;
		}
		this.#read(key, entry.version, entry);
		return entry;
	}

	#read(key: string, version: number, entry: CachedRecord | undefined): void {
		if (this.#placeRead(key) >= 0) return;
		this.reads.push([key, version]);
		this.found.push(entry);
		const { length } = this.reads;
		if (length === FEW) this.#readPlaces = new Map(this.reads.map((read, n) => [read[0], n]));
		else this.#readPlaces?.set(key, length - 1);
	}

	#write(key: string, record: object | undefined): void {
		const written = this.#written(key);
		if (written) {
			written.record = record;
			return;
		}
		const write = { key, record, known: this.#known(key) };
		const length = this.writes.push(write);
		if (length === FEW) this.#writtenByKey = new Map(this.writes.map((each) => [each.key, each]));
		else this.#writtenByKey?.set(key, write);
	}

	#known(key: string): CachedRecord | undefined {
		const place = this.#placeRead(key);
		return place >= 0 ? this.found[place] : this.#cache.get(key);
	}

	/** A rule writes what it read, most often the last. */
	#placeRead(key: string): number {
		if (this.#readPlaces) return this.#readPlaces.get(key) ?? -1;
		for (let n = this.reads.length - 1; n >= 0; n--) if (this.reads[n]?.[0] === key) return n;
		return -1;
	}

	#written(key: string): WrittenRecord | undefined {
		if (this.#writtenByKey) return this.#writtenByKey.get(key);
		for (const written of this.writes) if (written.key === key) return written;
		return undefined;
	}
}
