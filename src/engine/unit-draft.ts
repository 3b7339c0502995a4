import type { ExecutionEvent } from "../kernel/events.ts";
import type { Blob } from "../kernel/payload.ts";
import type { Placement } from "../kernel/placement.ts";
import { encodeRecord } from "../kernel/records/record.ts";
import type { Unit } from "../store/port.ts";
import type { Running } from "./running.ts";

/** Hard caps of the design: they keep every commit small, whatever the rules do. */
export const MAX_UNIT_RECORDS = 256;
const MAX_RECORD_CHARS = 64 * 1024;

/** A record as a unit leaves it, and where it was queued before the unit and is now. */
export interface Write {
	/** Undefined when it is removed. */
	record: object | undefined;
	before: readonly Placement[];
	after: readonly Placement[];
}

/** A unit while its batch is being made: commands that depend on each other, and all they read and wrote. */
export class UnitDraft {
	readonly commands: Running[];
	/** Versions of everything read. */
	readonly expected: Map<string, number>;
	readonly written = new Map<string, Write>();
	events: ExecutionEvent[];
	forgotten: readonly string[];
	blobs: readonly Blob[];
	blobsRemoved: readonly string[];
	committed = false;

	constructor(command: Running, read: UnitContents & { reads: Map<string, number> }) {
		this.commands = [command];
		this.expected = read.reads;
		this.events = read.events;
		this.forgotten = read.forgotten;
		this.blobs = read.blobs;
		this.blobsRemoved = read.blobsRemoved;
	}

	append(contents: UnitContents): void {
		this.events.push(...contents.events);
		if (contents.forgotten.length > 0) this.forgotten = [...this.forgotten, ...contents.forgotten];
		if (contents.blobs.length > 0) this.blobs = [...this.blobs, ...contents.blobs];
		if (contents.blobsRemoved.length > 0) this.blobsRemoved = [...this.blobsRemoved, ...contents.blobsRemoved];
	}

	absorb(other: UnitDraft): void {
		this.commands.push(...other.commands);
		for (const [key, version] of other.expected) this.expected.set(key, version);
		for (const [key, write] of other.written) this.written.set(key, write);
		this.append(other);
	}

	toUnit(): Unit {
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
			wantsTurn: false,
		};
		for (const [key, { record, before, after }] of this.written) {
			if (record) unit.put.push({ key, doc: encodeWithin(key, record) });
			else unit.removed.push(key);
			for (const { queue, score } of before)
				if (!isIn(after, queue, score)) unit.indexRemoved.push({ queue, key, score });
			for (const { queue, score } of after)
				if (!isIn(before, queue, score)) unit.indexAdded.push({ queue, key, score });
		}
		return unit;
	}
}

/** What a rule or a unit adds beside records. */
export interface UnitContents {
	events: ExecutionEvent[];
	forgotten: readonly string[];
	blobs: readonly Blob[];
	blobsRemoved: readonly string[];
}

function encodeWithin(key: string, record: object): string {
	const doc = encodeRecord(record);
	if (doc.length > MAX_RECORD_CHARS) throw new RangeError(`record ${key} grew to ${doc.length} characters`);
	return doc;
}

/** A record is in few places, so comparing each with each is the quick way. */
export function isIn(places: readonly Placement[], queue: string, score: number): boolean {
	for (const place of places) if (place.score === score && place.queue === queue) return true;
	return false;
}
