import { type Batch, DUE, type EventEntry, hasWrites, type IndexEntry, type Unit } from "../port.ts";
import { eventText } from "./event-log.ts";
import { functionName } from "./function-names.ts";
import type { PartitionKeys } from "./partition-keys.ts";
import { RespBuffer } from "./resp-buffer.ts";
import { toText } from "./text.ts";

/** Versions are compared as text of this width, so that the function never takes one apart. */
export const VERSION_WIDTH = 14;
/** Which unit told of how much of a log: digits of its number, then of the length. */
export const UNIT_WIDTH = 5;
export const LENGTH_WIDTH = 10;
/** The most names of one kind in a batch. */
const PLACES = 128 * 128;
/** Room for numbers at first; it grows with the largest batch. */
const FIRST_NUMBERS = 4096;
/** What every call begins with. */
export const COMMIT_ARGS = [
	"shape",
	"clock",
	"heard",
	"engine",
	"number",
	"at",
	"versions",
	"channel",
	"ownChannel",
	"partition",
] as const;

const STARTING = openingOf(functionName("start"));
const COMMITTING = openingOf(functionName("commit"));

/** What a call is told beside its batch. */
export interface CallSettings {
	/** The time a test gives, or nothing. */
	clock: string;
	/** The latest time this partition has told its caller: it never tells an earlier one. */
	heard: number;
	channel: string;
	/** Heard by the caller alone, so that it can be told whether others listen; empty when that cannot be known. */
	ownChannel: string;
	partition: number;
}

/**
 * Makes the call of the `commit` or `start` function for a batch: one call, whatever the batch holds, ready to be sent.
 *
 *   keys   the partition's own; the version of every record named, then the document of each; queues; blobs; logs, then
 *          the stretches of each
 *   args   what every call begins with; of every log its events and how much of them each unit told of; scores; then
 *          documents and blobs in the order of their units
 *   shape  units, records, queues, blobs, logs, place of the due queue, length of a key's prefix, scores, whether it
 *          writes, whether an entry is moved by two units, whether it is vouched for; then per unit whether it wants a
 *          turn and, each with its count in front: records expected, put, removed; events (log, owner, group or 0);
 *          owners forgotten (log, owner); blobs put, removed; entries removed, added (queue, record and score)
 *
 * Everything is named by its place, counted from 1 as in Lua.
 */
export class CommitCall {
	readonly #call = new RespBuffer();
	readonly #bodies = new RespBuffer();
	readonly #versions = new RespBuffer();
	/** By the place of their log: what each unit told of. */
	#events: { unit: number; text: string }[][] = [];
	/** Events so far. */
	#eventCount = 0;
	readonly #lengths = new RespBuffer();
	readonly #packed = new RespBuffer();
	readonly #shape = new Numbers();
	readonly #records = new Places<string>();
	readonly #queues = new Places<string>();
	readonly #blobs = new Places<string>();
	readonly #logs = new Places<string>();
	readonly #scores = new Places<number>();
	#bodyCount = 0;
	/** By place of a record: the unit, counted from 1, that moves an entry of it, or 0. */
	#movedBy = new Uint32Array(FIRST_NUMBERS);
	#movedTwice = false;
	#writes = false;

	encode(keys: PartitionKeys, batch: Batch, settings: CallSettings): Buffer {
		for (const part of [this.#call, this.#bodies, this.#versions, this.#lengths, this.#packed]) part.clear();
		this.#events = [];
		this.#eventCount = 0;
		this.#shape.clear();
		this.#movedBy.fill(0, 0, this.#records.size + 1);
		for (const places of [this.#records, this.#queues, this.#blobs, this.#logs, this.#scores]) places.clear();
		this.#bodyCount = 0;
		this.#movedTwice = false;
		this.#writes = false;
		batch.units.forEach((unit, n) => {
			this.#takeUnit(unit, n + 1);
		});
		return this.#write(keys, batch, settings);
	}

	#takeUnit(unit: Unit, number: number): void {
		const shape = this.#shape;
		const records = this.#records;
		shape.push(unit.wantsTurn ? 1 : 0);
		shape.push(unit.expected.length);
		for (const [key, version] of unit.expected) {
			shape.push(records.of(key));
			this.#versions.digits(version, VERSION_WIDTH);
		}
		shape.push(unit.put.length);
		for (const { key, doc } of unit.put) {
			shape.push(records.of(key));
			this.#bodies.bulkText(doc);
		}
		shape.push(unit.removed.length);
		for (const key of unit.removed) shape.push(records.of(key));
		shape.push(unit.events.length);
		for (const event of unit.events) this.#takeEvent(event, number);
		shape.push(unit.forgotten.length);
		for (const { log, owner } of unit.forgotten) {
			shape.push(this.#logs.of(log));
			shape.push(records.of(owner));
		}
		shape.push(unit.blobs.length);
		for (const { key, bytes } of unit.blobs) {
			shape.push(this.#blobs.of(key));
			this.#bodies.bulkBytes(bytes);
		}
		shape.push(unit.blobsRemoved.length);
		for (const key of unit.blobsRemoved) shape.push(this.#blobs.of(key));
		this.#takeEntries(unit.indexRemoved, number);
		this.#takeEntries(unit.indexAdded, number);
		this.#bodyCount += unit.put.length + unit.blobs.length;
		this.#writes ||= hasWrites(unit);
	}

	#takeEvent(event: EventEntry, unit: number): void {
		const log = this.#logs.of(event.log);
		this.#shape.push(log);
		this.#shape.push(this.#records.of(event.owner));
		this.#shape.push(event.group === undefined || event.group === event.owner ? 0 : this.#records.of(event.group));
		const text = eventText(event, this.#eventCount++);
		const told = (this.#events[log] ??= []);
		const last = told.at(-1);
		if (last?.unit === unit) last.text += text;
		else told.push({ unit, text });
	}

	/** Units that move an entry of the same record do so one after the other; all others are moved together. */
	#takeEntries(entries: readonly IndexEntry[], unit: number): void {
		this.#shape.push(entries.length);
		for (const { queue, key, score } of entries) {
			const record = this.#records.of(key);
			this.#shape.push(this.#queues.of(queue));
			this.#shape.push(record);
			this.#shape.push(this.#scores.of(score));
			if (record >= this.#movedBy.length) this.#movedBy = enlarged(this.#movedBy);
			this.#movedTwice ||= (this.#movedBy[record] || unit) !== unit;
			this.#movedBy[record] = unit;
		}
	}

	#write({ fixed, prefixes }: PartitionKeys, batch: Batch, settings: CallSettings): Buffer {
		const call = this.#call;
		const [records, queues, blobs] = [this.#records, this.#queues, this.#blobs];
		const [logs, scores] = [this.#logs, this.#scores];
		const keyCount = fixed.length + 2 * records.size + queues.size + blobs.size + 2 * logs.size;
		const counts = [batch.units.length, records.size, queues.size, blobs.size, logs.size, queues.find(DUE)];
		counts.push(
			prefixes.version.length,
			scores.size,
			this.#writes ? 1 : 0,
			this.#movedTwice ? 1 : 0,
			batch.vouched ? 1 : 0,
		);
		pack(this.#packed, counts, this.#shape.all());

		call.ascii("*");
		call.digits(3 + keyCount + COMMIT_ARGS.length + 2 * logs.size + scores.size + this.#bodyCount);
		call.ascii("\r\n");
		call.ascii(batch.startsWork ? STARTING : COMMITTING);
		call.bulkText(String(keyCount));
		for (const key of fixed) call.bulkText(key);
		call.bulkNames([prefixes.version, prefixes.record], records.names);
		for (const name of queues.names) call.bulkName(prefixes.queue, name);
		for (const key of blobs.names) call.bulkName(prefixes.blob, key);
		call.bulkNames([prefixes.log, prefixes.stretches], logs.names);
		call.bulk(this.#packed);
		call.bulkText(settings.clock);
		call.bulkText(String(settings.heard));
		call.bulkText(`e:${toText(batch.engine)}`);
		call.bulkText(String(batch.number));
		call.bulkText(String(batch.at));
		call.bulk(this.#versions);
		call.bulkText(settings.channel);
		call.bulkText(settings.ownChannel);
		call.bulkText(String(settings.partition));
		for (let log = 1; log <= logs.size; log++) this.#writeEvents(this.#events[log] ?? []);
		for (const score of scores.names) call.bulkText(String(score));
		call.append(this.#bodies);
		return call.take();
	}

	#writeEvents(told: readonly { unit: number; text: string }[]): void {
		const call = this.#call;
		const isAscii = call.bulkText(told.length === 1 ? (told[0]?.text ?? "") : told.map(({ text }) => text).join(""));
		this.#lengths.clear();
		for (const { unit, text } of told) {
			this.#lengths.digits(unit, UNIT_WIDTH);
			this.#lengths.digits(isAscii ? text.length : Buffer.byteLength(text), LENGTH_WIDTH);
		}
		call.bulk(this.#lengths);
	}
}

function openingOf(name: string): string {
	return `$5\r\nFCALL\r\n$${name.length}\r\n${name}\r\n`;
}

/** Numbers in the making, in memory that is kept from call to call. */
class Numbers {
	#values = new Uint32Array(FIRST_NUMBERS);
	#length = 0;

	push(value: number): void {
		if (this.#length === this.#values.length) this.#values = enlarged(this.#values);
		this.#values[this.#length++] = value;
	}

	all(): Uint32Array {
		return this.#values.subarray(0, this.#length);
	}

	clear(): void {
		this.#length = 0;
	}
}

function enlarged(values: Uint32Array): Uint32Array<ArrayBuffer> {
	const larger = new Uint32Array(2 * values.length);
	larger.set(values);
	return larger;
}

/** Names by their places, counted from 1 in the order they first came. */
class Places<N> {
	#places = new Map<N, number>();
	/** A unit names its record again and again. */
	#last: N | undefined;
	#lastPlace = 0;

	get size(): number {
		return this.#places.size;
	}

	get names(): Iterable<N> {
		return this.#places.keys();
	}

	of(name: N): number {
		if (name === this.#last) return this.#lastPlace;
		let place = this.#places.get(name);
		if (place === undefined) this.#places.set(name, (place = this.#places.size + 1));
		this.#last = name;
		this.#lastPlace = place;
		return place;
	}

	/** 0 for a name that has not come. */
	find(name: N): number {
		return this.#places.get(name) ?? 0;
	}

	/**
	 * A table that was cleared leads on to its successor. Once one has become old, all that come after it are taken to be in
	 * use and grow old too, with whatever they hold: a third of all that the collector carried over was theirs.
	 */
	clear(): void {
		this.#places = new Map();
		this.#last = undefined;
	}
}

/** Numbers one after the other: a byte each, or two of seven bits when one of them is large. */
function pack(into: RespBuffer, ...parts: readonly ArrayLike<number>[]): void {
	let largest = 0;
	for (const numbers of parts)
		for (let n = 0; n < numbers.length; n++) largest = Math.max(largest, numbers[n] as number);
	if (largest >= PLACES) throw new RangeError(`a batch may name fewer than ${PLACES} records, not ${largest}`);
	const wide = largest >= 128;
	into.byte(wide ? 2 : 1);
	for (const numbers of parts) {
		for (let n = 0; n < numbers.length; n++) {
			const number = numbers[n] as number;
			if (wide) into.byte(number >> 7);
			into.byte(number & 127);
		}
	}
}
