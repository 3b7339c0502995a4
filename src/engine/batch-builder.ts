import type { Kernel } from "../kernel/kernel.ts";
import type { QueueHeads } from "./queue-heads.ts";
import type { CachedRecord, RecordCache } from "./record-cache.ts";
import type { Running } from "./running.ts";
import type { Transaction } from "./transaction.ts";
import { indexChanges, MAX_UNIT_RECORDS, UnitDraft } from "./unit-draft.ts";

/** Bytes kept apart from records that one batch may carry. */
const MAX_BATCH_BLOB_BYTES = 8 * 1024 * 1024;

/**
 * Sorts the commands of a batch into units. Two commands share a unit only if one wrote a record the other read or
 * wrote, or one took an index entry the other looked past: then they must stand or fall together, else they must not.
 */
export class BatchBuilder {
	readonly units = new Set<UnitDraft>();
	readonly #readers = new Map<string, Set<UnitDraft>>();
	readonly #takers = new Map<string, Set<UnitDraft>>();
	readonly #placement: Kernel["placement"];
	readonly #cache: RecordCache;
	readonly #heads: QueueHeads;
	#blobBytes = 0;

	constructor(placement: Kernel["placement"], cache: RecordCache, heads: QueueHeads) {
		this.#placement = placement;
		this.#cache = cache;
		this.#heads = heads;
	}

	/** Takes a command that has run into the batch; false when it has to wait for the next one. */
	add(running: Running, tx: Transaction): boolean {
		const related = this.#related(tx);
		if (!this.#fits(related, tx)) return false;
		const unit = this.#join(related);
		unit.commands.push(running);
		this.#takeReads(unit, tx);
		this.#takeWrites(unit, tx);
		return true;
	}

	#related(tx: Transaction): Set<UnitDraft> {
		const related = new Set<UnitDraft>();
		for (const key of tx.reads.keys()) {
			const writer = this.#cache.get(key)?.unit;
			if (writer) related.add(writer);
		}
		for (const key of tx.writes.keys()) {
			const writer = this.#cache.get(key)?.unit;
			if (writer) related.add(writer);
			for (const reader of this.#readers.get(key) ?? []) related.add(reader);
		}
		for (const queue of tx.looked) for (const taker of this.#takers.get(queue) ?? []) related.add(taker);
		return related;
	}

	#fits(related: Set<UnitDraft>, tx: Transaction): boolean {
		let records = tx.writes.size;
		for (const unit of related) records += unit.written.size;
		const bytes = tx.blobs.reduce((sum, blob) => sum + blob.bytes.byteLength, 0);
		if (this.units.size > 0 && (records > MAX_UNIT_RECORDS || this.#blobBytes + bytes > MAX_BATCH_BLOB_BYTES))
			return false;
		this.#blobBytes += bytes;
		return true;
	}

	#join(related: Set<UnitDraft>): UnitDraft {
		const [unit, ...others] = related;
		if (!unit) {
			const made = new UnitDraft();
			this.units.add(made);
			return made;
		}
		for (const other of others) {
			unit.absorb(other);
			this.units.delete(other);
			for (const key of other.written.keys()) {
				const entry = this.#cache.get(key);
				if (entry) entry.unit = unit;
			}
			for (const key of other.expected.keys()) replace(this.#readers.get(key), other, unit);
			for (const takers of this.#takers.values()) replace(takers, other, unit);
		}
		return unit;
	}

	#takeReads(unit: UnitDraft, tx: Transaction): void {
		for (const [key, version] of tx.reads) {
			// A record this unit wrote already is not what the store has: the version before that is the one to check.
			if (!unit.expected.has(key)) unit.expected.set(key, version);
			addTo(this.#readers, key, unit);
		}
	}

	#takeWrites(unit: UnitDraft, tx: Transaction): void {
		for (const [key, record] of tx.writes) {
			const known: CachedRecord = this.#cache.get(key) ?? { record: undefined, version: 0, places: [] };
			if (!unit.expected.has(key)) unit.expected.set(key, known.version);
			const places = record ? this.#placement(key, record) : [];
			if (!unit.placesBefore.has(key)) unit.placesBefore.set(key, known.places);
			unit.placesAfter.set(key, places);
			unit.written.set(key, record);
			this.#cache.set(key, { record, version: known.version, places, unit });
			this.#moveInQueues(unit, key, known, places);
		}
		unit.events.push(...tx.events);
		unit.forgotten.push(...tx.forgotten);
		unit.blobs.push(...tx.blobs);
		unit.blobsRemoved.push(...tx.blobsRemoved);
	}

	#moveInQueues(unit: UnitDraft, key: string, before: CachedRecord, after: CachedRecord["places"]): void {
		const removed: Parameters<typeof indexChanges>[3] = [];
		const added: typeof removed = [];
		indexChanges(key, before.places, after, removed, added);
		for (const entry of removed) {
			this.#heads.remove(entry.queue, entry);
			addTo(this.#takers, entry.queue, unit);
		}
		for (const entry of added) this.#heads.add(entry.queue, { key, score: entry.score });
	}
}

function addTo(map: Map<string, Set<UnitDraft>>, key: string, unit: UnitDraft): void {
	const set = map.get(key);
	if (set) set.add(unit);
	else map.set(key, new Set([unit]));
}

function replace(set: Set<UnitDraft> | undefined, old: UnitDraft, by: UnitDraft): void {
	if (set?.delete(old)) set.add(by);
}
