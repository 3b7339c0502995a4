import type { Batch, EventEntry, IndexEntry, Unit } from "../port.ts";

type Value = string | number | Uint8Array;

/**
 * A batch as one flat list: crossing to another thread costs by the object, and a list of a thousand strings is one. It is
 * read back in the order it was written.
 */
export type PackedBatch = Value[];

export function packBatch({ engine, number, at, units, vouched }: Batch): PackedBatch {
	const to: PackedBatch = [engine, number, at, vouched ? 1 : 0, units.length];
	for (const unit of units) packUnit(to, unit);
	return to;
}

export function unpackBatch(packed: PackedBatch): Batch {
	const from = new Unpacking(packed);
	const batch: Batch = { engine: from.text(), number: from.number(), at: from.number(), units: [] };
	if (from.number() === 1) batch.vouched = true;
	for (let left = from.number(); left > 0; left--) batch.units.push(unpackUnit(from));
	return batch;
}

function packUnit(to: PackedBatch, unit: Unit): void {
	to.push(unit.wantsTurn ? 1 : 0, unit.expected.length);
	for (const [key, version] of unit.expected) to.push(key, version);
	to.push(unit.put.length);
	for (const { key, doc } of unit.put) to.push(key, doc);
	packTexts(to, unit.removed);
	packEntries(to, unit.indexAdded);
	packEntries(to, unit.indexRemoved);
	to.push(unit.events.length);
	for (const { log, owner, group = "", at, body } of unit.events) to.push(log, owner, group, at, body);
	to.push(unit.forgotten.length);
	for (const { log, owner } of unit.forgotten) to.push(log, owner);
	to.push(unit.blobs.length);
	for (const { key, bytes } of unit.blobs) to.push(key, alone(bytes));
	packTexts(to, unit.blobsRemoved);
}

/** Of a part of a larger buffer, the whole buffer would cross. */
function alone(bytes: Uint8Array): Uint8Array {
	return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}

function packTexts(to: PackedBatch, texts: readonly string[]): void {
	to.push(texts.length);
	for (const text of texts) to.push(text);
}

function packEntries(to: PackedBatch, entries: readonly IndexEntry[]): void {
	to.push(entries.length);
	for (const { queue, score, key } of entries) to.push(queue, score, key);
}

function unpackUnit(from: Unpacking): Unit {
	return {
		wantsTurn: from.number() === 1,
		expected: from.list(() => [from.text(), from.number()]),
		put: from.list(() => ({ key: from.text(), doc: from.text() })),
		removed: from.list(() => from.text()),
		indexAdded: from.list(() => ({ queue: from.text(), score: from.number(), key: from.text() })),
		indexRemoved: from.list(() => ({ queue: from.text(), score: from.number(), key: from.text() })),
		events: from.list(() => unpackEvent(from)),
		forgotten: from.list(() => ({ log: from.text(), owner: from.text() })),
		blobs: from.list(() => ({ key: from.text(), bytes: from.bytes() })),
		blobsRemoved: from.list(() => from.text()),
	};
}

function unpackEvent(from: Unpacking): EventEntry {
	const [log, owner, group] = [from.text(), from.text(), from.text()];
	const event: EventEntry = { log, owner, at: from.number(), body: from.text() };
	if (group !== "") event.group = group;
	return event;
}

class Unpacking {
	readonly #values: PackedBatch;
	#next = 0;

	constructor(values: PackedBatch) {
		this.#values = values;
	}

	text(): string {
		return this.#values[this.#next++] as string;
	}

	number(): number {
		return this.#values[this.#next++] as number;
	}

	bytes(): Uint8Array {
		return this.#values[this.#next++] as Uint8Array;
	}

	list<T>(one: () => T): T[] {
		const found: T[] = [];
		for (let left = this.number(); left > 0; left--) found.push(one());
		return found;
	}
}
