import type { ExecutionEvent } from "../kernel/events.ts";
import type { Blob } from "../kernel/payload.ts";
import type { Placement } from "../kernel/placement.ts";
import { encodeRecord } from "../kernel/records/record.ts";
import type { IndexEntry, Unit } from "../store/port.ts";
import type { Running } from "./running.ts";

/** Hard caps of the design: they keep every commit small, whatever the rules do. */
export const MAX_UNIT_RECORDS = 256;
const MAX_RECORD_CHARS = 64 * 1024;

/** A unit while its batch is being made: commands that depend on each other, and all they read and write. */
export class UnitDraft {
	commands: Running[] = [];
	/** Versions of everything read. */
	readonly expected = new Map<string, number>();
	/** The newest state of everything written; undefined for what is removed. */
	readonly written = new Map<string, object | undefined>();
	/** Where the written records were queued before this unit, and are now. */
	readonly placesBefore = new Map<string, readonly Placement[]>();
	readonly placesAfter = new Map<string, readonly Placement[]>();
	events: ExecutionEvent[] = [];
	forgotten: string[] = [];
	blobs: Blob[] = [];
	blobsRemoved: string[] = [];
	committed = false;

	get writes(): boolean {
		return this.written.size > 0 || this.events.length > 0 || this.blobs.length > 0;
	}

	absorb(other: UnitDraft): void {
		this.commands.push(...other.commands);
		for (const [key, version] of other.expected) this.expected.set(key, version);
		for (const [key, record] of other.written) this.written.set(key, record);
		for (const [key, places] of other.placesBefore) this.placesBefore.set(key, places);
		for (const [key, places] of other.placesAfter) this.placesAfter.set(key, places);
		this.events.push(...other.events);
		this.forgotten.push(...other.forgotten);
		this.blobs.push(...other.blobs);
		this.blobsRemoved.push(...other.blobsRemoved);
	}

	toUnit(wantsTurn: boolean): Unit {
		const unit: Unit = {
			expected: [...this.expected],
			put: [],
			removed: [],
			indexAdded: [],
			indexRemoved: [],
			events: this.events.map((event) => ({ owner: event.executionId, at: event.at, body: JSON.stringify(event) })),
			forgotten: this.forgotten,
			blobs: this.blobs,
			blobsRemoved: this.blobsRemoved,
			wantsTurn,
		};
		for (const [key, record] of this.written) {
			if (record) unit.put.push({ key, doc: encodeWithin(key, record) });
			else unit.removed.push(key);
			const before = this.placesBefore.get(key) ?? [];
			const after = this.placesAfter.get(key) ?? [];
			indexChanges(key, before, after, unit.indexRemoved, unit.indexAdded);
		}
		return unit;
	}
}

function encodeWithin(key: string, record: object): string {
	const doc = encodeRecord(record);
	if (doc.length > MAX_RECORD_CHARS) throw new RangeError(`record ${key} grew to ${doc.length} characters`);
	return doc;
}

/** Subtracts one placement from another. A record is in few places, so comparing each with each is the quick way. */
export function indexChanges(
	key: string,
	before: readonly Placement[],
	after: readonly Placement[],
	removed: IndexEntry[],
	added: IndexEntry[],
): void {
	for (const place of before) if (!isIn(place, after)) removed.push({ queue: place.queue, key, score: place.score });
	for (const place of after) if (!isIn(place, before)) added.push({ queue: place.queue, key, score: place.score });
}

function isIn(place: Placement, places: readonly Placement[]): boolean {
	for (const other of places) if (other.score === place.score && other.queue === place.queue) return true;
	return false;
}
