import { type EmittedEvent, encodeEvent } from "../../kernel/events.ts";
import type { Blob } from "../../kernel/payload.ts";
import type { Placement } from "../../kernel/placement.ts";
import { encode } from "../../kernel/record-types.ts";
import type { EventEntry, ForgottenOwner, IndexEntry, Unit } from "../../store/port.ts";
import type { Running } from "./running.ts";
import type { Transaction } from "./transaction.ts";

/** Hard caps of the design: they keep every commit small, whatever the rules do. */
export const MAX_UNIT_RECORDS = 256;
const MAX_RECORD_CHARS = 64 * 1024;

/** A record as a unit leaves it, and where it was queued before the unit and is now. */
export interface Write {
	readonly key: string;
	/** Undefined when it is removed. */
	record: object | undefined;
	/** How long its document is, once it was made. */
	chars: number;
	readonly before: readonly Placement[];
	after: readonly Placement[];
}

/** What goes with the records of a unit. */
interface Beside {
	events: readonly EmittedEvent[];
	forgotten: readonly ForgottenOwner[];
	blobs: readonly Blob[];
	blobsRemoved: readonly string[];
}

/** A unit while its batch is being made: commands that depend on each other, and all they read and wrote. */
export class UnitDraft {
	readonly commands: Running[];
	/** Versions of everything read. */
	readonly expected: [key: string, version: number][];
	readonly written: Write[] = [];
	events: EmittedEvent[];
	forgotten: readonly ForgottenOwner[];
	blobs: readonly Blob[];
	blobsRemoved: readonly string[];
	committed = false;

	constructor(command: Running, tx: Transaction) {
		this.commands = [command];
		this.expected = tx.reads;
		this.events = tx.events;
		this.forgotten = tx.forgotten;
		this.blobs = tx.blobs;
		this.blobsRemoved = tx.blobsRemoved;
	}

	/** A record the unit read, or wrote, already keeps the version it had in the store before. */
	expect(key: string, version: number): void {
		for (const known of this.expected) if (known[0] === key) return;
		this.expected.push([key, version]);
	}

	writeOf(key: string): Write | undefined {
		for (const write of this.written) if (write.key === key) return write;
		return undefined;
	}

	append(beside: Beside): void {
		for (const event of beside.events) this.events.push(event);
		if (beside.forgotten.length > 0) this.forgotten = [...this.forgotten, ...beside.forgotten];
		if (beside.blobs.length > 0) this.blobs = [...this.blobs, ...beside.blobs];
		if (beside.blobsRemoved.length > 0) this.blobsRemoved = [...this.blobsRemoved, ...beside.blobsRemoved];
	}

	absorb(other: UnitDraft): void {
		for (const command of other.commands) this.commands.push(command);
		for (const [key, version] of other.expected) this.expect(key, version);
		for (const write of other.written) this.written.push(write);
		this.append(other);
	}

	toUnit(wantsTurn: boolean): Unit {
		const unit: Unit = {
			expected: this.expected,
			put: [],
			removed: [],
			indexAdded: [],
			indexRemoved: [],
			events: this.events.map(entryOf),
			forgotten: this.forgotten,
			blobs: this.blobs,
			blobsRemoved: this.blobsRemoved,
			wantsTurn,
		};
		for (const write of this.written) {
			const { key, record, before, after } = write;
			if (record) {
				const doc = encodeWithin(key, record);
				write.chars = doc.length;
				unit.put.push({ key, doc });
			} else unit.removed.push(key);
			for (const { queue, score } of before)
				if (!isIn(after, queue, score)) unit.indexRemoved.push({ queue, key, score });
			for (const { queue, score } of after)
				if (!isIn(before, queue, score)) unit.indexAdded.push(entryWithin(queue, key, score));
		}
		return unit;
	}
}

function entryOf(event: EmittedEvent): EventEntry {
	const { namespace, executionId, flowId, at, body } = event;
	if (executionId === undefined) return { log: namespace, owner: flowId, at, body: encodeEvent(body) };
	const entry: EventEntry = { log: namespace, owner: executionId, at, body: encodeEvent(body) };
	if (flowId !== undefined) entry.group = flowId;
	return entry;
}

function encodeWithin(key: string, record: object): string {
	const doc = encode(key, record);
	if (doc.length > MAX_RECORD_CHARS) throw new RangeError(`record ${key} grew to ${doc.length} characters`);
	return doc;
}

/** A place that is none would fail the commit for all that share it. */
function entryWithin(queue: string, key: string, score: number): IndexEntry {
	if (!Number.isFinite(score)) throw new RangeError(`record ${key} has no place in the queue ${queue}`);
	return { queue, key, score };
}

/** A record is in few places, so comparing each with each is the quick way. */
export function isIn(places: readonly Placement[], queue: string, score: number): boolean {
	for (const place of places) if (place.score === score && place.queue === queue) return true;
	return false;
}
