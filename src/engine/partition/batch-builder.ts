import type { Kernel } from "../../kernel/kernel.ts";
import type { QueueHeads } from "./queue-heads.ts";
import type { RecordCache } from "./record-cache.ts";
import type { Running } from "./running.ts";
import type { Transaction } from "./transaction.ts";
import { isIn, MAX_UNIT_RECORDS, UnitDraft } from "./unit-draft.ts";

/** Bytes kept apart from records that one batch may carry. */
const MAX_BATCH_BLOB_BYTES = 8 * 1024 * 1024;

/** Most records are read by one unit, most queues taken from by one: a list is made only for the second. */
type Units = UnitDraft | UnitDraft[];

/**
 * Sorts the commands of a batch into units. Two commands share a unit only if one wrote a record the other read or
 * wrote, or one took an index entry the other looked past: then they must stand or fall together, else they must not.
 */
export class BatchBuilder {
	readonly units = new Set<UnitDraft>();
	/** Queues that its commands looked along. */
	readonly walked = new Set<string>();
	readonly #readers = new Map<string, Units>();
	readonly #takers = new Map<string, Units>();
	readonly #placement: Kernel["placement"];
	readonly #cache: RecordCache;
	readonly #heads: QueueHeads;
	readonly #onQueued: (queue: string) => void;
	/** How much a commit of this batch does: its writes, and one for a command without. */
	size = 0;
	#blobBytes = 0;

	constructor(
		placement: Kernel["placement"],
		cache: RecordCache,
		heads: QueueHeads,
		onQueued: (queue: string) => void,
	) {
		this.#placement = placement;
		this.#cache = cache;
		this.#heads = heads;
		this.#onQueued = onQueued;
	}

	/** Takes a command that has run into the batch; false when it has to wait for the next one. */
	add(running: Running, tx: Transaction): boolean {
		const related = this.#related(tx);
		if (!this.#fits(related, tx)) return false;
		let unit: UnitDraft;
		if (related) unit = this.#join(related, running, tx);
		else this.units.add((unit = new UnitDraft(running, tx)));
		for (const [key] of tx.reads) addTo(this.#readers, key, unit);
		for (const queue of tx.looked) this.walked.add(queue);
		this.#takeWrites(unit, tx);
		this.size += Math.max(1, tx.writes.length);
		return true;
	}

	/** Whether a command that has run rests on what this batch writes, or looked along a queue this batch takes from. */
	concerns(tx: Transaction): boolean {
		for (const known of tx.found) if (known?.unit && this.units.has(known.unit)) return true;
		for (const { known } of tx.writes) if (known?.unit && this.units.has(known.unit)) return true;
		return tx.looked.some((queue) => this.#takers.has(queue));
	}

	#related(tx: Transaction): UnitDraft[] | undefined {
		let related: UnitDraft[] | undefined;
		for (const known of tx.found) related = withUnits(related, known?.unit);
		for (const { key, known } of tx.writes) {
			related = withUnits(related, known?.unit);
			related = withUnits(related, this.#readers.get(key));
		}
		for (const queue of tx.looked) related = withUnits(related, this.#takers.get(queue));
		return related;
	}

	#fits(related: UnitDraft[] | undefined, tx: Transaction): boolean {
		let records = tx.writes.length;
		if (related) for (const unit of related) records += unit.written.length;
		let bytes = this.#blobBytes;
		for (const blob of tx.blobs) bytes += blob.bytes.byteLength;
		if (this.units.size > 0 && (records > MAX_UNIT_RECORDS || bytes > MAX_BATCH_BLOB_BYTES)) return false;
		this.#blobBytes = bytes;
		return true;
	}

	#join(related: UnitDraft[], running: Running, tx: Transaction): UnitDraft {
		const [unit, ...others] = related as [UnitDraft, ...UnitDraft[]];
		for (const other of others) {
			unit.absorb(other);
			this.units.delete(other);
			for (const { key } of other.written) {
				const entry = this.#cache.get(key);
				if (entry) entry.unit = unit;
			}
			for (const map of [this.#readers, this.#takers]) replaceIn(map, other, unit);
		}
		unit.commands.push(running);
		unit.append(tx);
		for (const [key, version] of tx.reads) unit.expect(key, version);
		return unit;
	}

	#takeWrites(unit: UnitDraft, tx: Transaction): void {
		for (const { key, record, known } of tx.writes) {
			const version = known?.version ?? 0;
			const now = known?.places ?? [];
			const after = record ? this.#placement(key, record) : [];
			unit.expect(key, version);
			const earlier = unit.writeOf(key);
			if (earlier) {
				earlier.record = record;
				earlier.after = after;
			} else unit.written.push({ key, record, chars: 0, before: now, after });
			if (known) this.#cache.set(key, { record, version, places: after, chars: known.chars, unit });
			else this.#cache.add(key, { record, version, places: after, chars: 0, unit });
			for (const { queue, score } of now) {
				if (isIn(after, queue, score)) continue;
				this.#heads.remove(queue, { key, score });
				addTo(this.#takers, queue, unit);
			}
			for (const { queue, score } of after) {
				if (isIn(now, queue, score)) continue;
				this.#heads.add(queue, { key, score });
				this.#onQueued(queue);
			}
		}
	}
}

function withUnits(related: UnitDraft[] | undefined, units: Units | undefined): UnitDraft[] | undefined {
	if (units === undefined) return related;
	const found = related ?? [];
	if (!Array.isArray(units)) {
		if (!found.includes(units)) found.push(units);
	} else for (const unit of units) if (!found.includes(unit)) found.push(unit);
	return found;
}

function addTo(map: Map<string, Units>, key: string, unit: UnitDraft): void {
	const there = map.get(key);
	if (there === undefined) map.set(key, unit);
	else if (there === unit) return;
	else if (!Array.isArray(there)) map.set(key, [there, unit]);
	// A unit that reads or takes again does so right after itself, unless others came between: twice does no harm.
	else if (there.at(-1) !== unit) there.push(unit);
}

function replaceIn(map: Map<string, Units>, old: UnitDraft, by: UnitDraft): void {
	for (const [key, units] of map) {
		if (units === old) map.set(key, by);
		else if (Array.isArray(units) && units.includes(old)) {
			map.set(key, [...new Set(units.map((unit) => (unit === old ? by : unit)))]);
		}
	}
}
