import type { Kernel } from "../../kernel/kernel.ts";
import type { Entry } from "../../kernel/tx.ts";
import type { News, Store, StoredRecord } from "../../store/port.ts";
import { mapBounded } from "../bounded.ts";
import { QueueHeads } from "./queue-heads.ts";
import { RecordCache } from "./record-cache.ts";
import type { Scan, Transaction } from "./transaction.ts";
import type { Write } from "./unit-draft.ts";

const SCAN_PAGE = 1000;
const FORGET_MS = 10_000;
/** Records at the head of a queue that should be in memory, and how many are fetched when they are not. */
const NEXT_UP = 16;
const FETCHED_AHEAD = 64;
/** What is asked of the store at a time, so that neither it nor this engine has to do with one partition for long. */
const QUEUES_AT_ONCE = 64;
const RECORDS_AT_ONCE = 512;

/** Asks the store about this memory's partition. */
export type Ask = <T extends { time: number }>(question: (store: Store, partition: number) => Promise<T>) => Promise<T>;

/** What rules asked for and memory did not have. */
export class Needs {
	readonly keys = new Set<string>();
	/** What they read before they came to that. */
	readonly #read = new Set<string>();
	readonly queues = new Map<string, number>();
	readonly scans = new Map<string, { guard: string; most: number }>();

	add(tx: Transaction): void {
		for (const key of tx.missingKeys) this.keys.add(key);
		for (const [key] of tx.reads) this.#read.add(key);
		for (const { queue, count } of tx.missingQueues)
			this.queues.set(queue, Math.max(count, this.queues.get(queue) ?? 0));
		for (const { queue, guard, most } of tx.missingScans)
			this.scans.set(queue, { guard, most: Math.max(most, this.scans.get(queue)?.most ?? 0) });
	}

	/** Whether a rule that waits for these will read this record. */
	isNeeded(key: string): boolean {
		return this.keys.has(key) || this.#read.has(key);
	}
}

/** What an engine knows of a partition: records, heads of queues, whole queues. Any of it may be out of date. */
export class PartitionMemory {
	readonly cache: RecordCache;
	readonly heads = new QueueHeads();
	readonly scans = new Map<string, Scan>();
	/** The opening of the line to the store since which it was filled: the first. Undefined when it is not to be trusted. */
	#filledSince: number | undefined = 1;
	#forgotAt = Number.NEGATIVE_INFINITY;
	readonly #kernel: Kernel;
	readonly #onCorrupt: (key: string, why: string) => void;

	constructor(capacity: number, kernel: Kernel, onCorrupt: (key: string, why: string) => void) {
		this.cache = new RecordCache(capacity);
		this.#kernel = kernel;
		this.#onCorrupt = onCorrupt;
	}

	/**
	 * After an outage another server may answer that never had the latest commits, and gives their numbers to others: a
	 * version remembered from before would then pass for another's. To be called while nothing is on its way. Not too
	 * often: where every answer is that slow, what was fetched must last until it is used.
	 */
	forgetBefore(opening: number, now: number): void {
		if (this.#filledSince === opening || now - this.#forgotAt < FORGET_MS) return;
		this.#filledSince = opening;
		this.#forgotAt = now;
		this.cache.clear();
		this.heads.forgetAll();
		this.scans.clear();
	}

	/** The store may have lost what it was last heard to have: nothing is used once it can be forgotten. */
	distrust(): void {
		this.#filledSince = undefined;
		this.#forgotAt = Number.NEGATIVE_INFINITY;
	}

	/** Records that whoever goes along this queue will want next, and that are not here yet. */
	missingAhead(queue: string): string[] {
		const next = this.heads.known(queue, NEXT_UP).at(-1);
		if (!next || this.cache.get(next.key)) return [];
		return this.heads
			.known(queue, FETCHED_AHEAD)
			.map(({ key }) => key)
			.filter((key) => !this.cache.get(key));
	}

	async fetch(needs: Needs, ask: Ask): Promise<void> {
		await Promise.all([
			this.fetchRecords([...needs.keys], ask),
			mapBounded([...needs.queues], QUEUES_AT_ONCE, ([queue, count]) => this.#fetchHead(queue, count, ask)),
			mapBounded([...needs.scans], QUEUES_AT_ONCE, ([queue, { guard, most }]) =>
				this.#fetchScan(queue, guard, most, ask),
			),
		]);
	}

	/** Takes in a record as the store has it, unless a write to it is on its way. */
	remember({ key, version, doc }: StoredRecord): void {
		if (this.cache.get(key)?.unit) return;
		if (version === 0) {
			this.cache.set(key, { record: undefined, version, places: [], chars: 0 });
			return;
		}
		try {
			const record = this.#kernel.decode(key, doc);
			this.cache.set(key, { record, version, places: this.#kernel.placement(key, record), chars: doc.length });
		} catch (error) {
			this.#onCorrupt(key, error instanceof Error ? error.message : String(error));
			this.cache.set(key, { record: undefined, version, places: [], chars: 0, corrupt: error });
		}
	}

	/** Takes in what a commit wrote that filled a queue, where nothing newer is known. */
	learn(queue: string, { commit, entries, records }: News): void {
		for (const { key, doc } of records)
			if ((this.cache.get(key)?.version ?? 0) < commit) this.remember({ key, version: commit, doc });
		if (!this.heads.peek(queue)) this.heads.load(queue, [], 1);
		for (const { key, score, ...at } of entries) if (at.queue === queue) this.heads.add(queue, { key, score });
	}

	/** A write to this record has reached the store. What has come to rest is let go, so that it dies young. */
	committed({ key, chars }: Write, version: number): void {
		const entry = this.cache.get(key);
		if (!entry) return;
		if (!entry.record || !this.#kernel.isBusy(key, entry.record)) return this.cache.delete(key);
		this.cache.settle(entry, version, chars);
	}

	/** Brings writes that have reached the store into what was read of a queue while they were on their way. */
	showIn(queue: string, written: readonly Write[]): void {
		for (const { key, before, after } of written) {
			for (const place of before) if (place.queue === queue) this.heads.remove(queue, { key, score: place.score });
			for (const place of after) if (place.queue === queue) this.heads.add(queue, { key, score: place.score });
		}
	}

	/** Lets go of everything that writes which failed may have changed. */
	forget(written: readonly Write[]): void {
		for (const { key, before, after } of written) {
			this.cache.delete(key);
			for (const { queue } of before) this.heads.forget(queue);
			for (const { queue } of after) this.heads.forget(queue);
		}
	}

	async fetchRecords(keys: string[], ask: Ask): Promise<void> {
		for (let n = 0; n < keys.length; n += RECORDS_AT_ONCE) {
			const some = keys.length <= RECORDS_AT_ONCE ? keys : keys.slice(n, n + RECORDS_AT_ONCE);
			const { records } = await ask((store, partition) => store.read(partition, some));
			for (const record of records) this.remember(record);
		}
	}

	async #fetchHead(queue: string, count: number, ask: Ask): Promise<void> {
		const asked = this.heads.loadSize(count);
		const { entries } = await ask((store, partition) => store.first(partition, queue, asked));
		this.heads.load(queue, entries, asked);
	}

	async #fetchScan(queue: string, guard: string, most: number, ask: Ask): Promise<void> {
		if (!this.cache.get(guard)) await this.fetchRecords([guard], ask);
		const entry = this.cache.get(guard);
		// While a write to the guard is on its way the scan could not be told complete; the next round lets it go first.
		if (!entry || entry.unit) return;
		const guardVersion = entry.version;
		const found: Entry[] = [];
		for (;;) {
			const last = found.at(-1);
			const page = Math.min(SCAN_PAGE, most - found.length);
			const { entries } = await ask((store, partition) => store.first(partition, queue, page, last));
			for (const entry of entries) found.push(entry);
			if (entries.length < page || found.length >= most) break;
		}
		this.scans.set(queue, { entries: found, guardVersion, most });
	}
}
