import { type Batch, hasWrites, type IndexEntry, type Unit } from "../port.ts";
import { encodeEvents } from "./event-log.ts";
import type { PartitionKeys } from "./partition-keys.ts";
import { toText } from "./text.ts";

/** Versions are compared as text of this width, so that the function never takes one apart. */
export const VERSION_WIDTH = 14;
const LENGTH_WIDTH = 10;
const DUE = "due";
/** The most names of one kind in a batch. */
const PLACES = 128 * 128;

/** What a call is told beside its batch. */
export interface CallSettings {
	/** The time a test gives, or nothing. */
	clock: string;
	channel: string;
	partition: string;
}

/**
 * A batch as arguments of `commit`: one call, whatever the batch holds.
 *
 *   keys   the partition's five; the version of every record named, then the document of each; queues; blobs
 *   args   shape, clock, engine, number, at, versions expected, channel, partition, all events, their lengths by unit,
 *          scores, then documents and blobs in the order of their units
 *   shape  units, records, queues, blobs, place of the due queue, length of a key's prefix, scores, whether it writes,
 *          whether an entry is named twice; then per unit whether it wants a turn and, each with its count in front:
 *          records expected, put, removed; owners told of, forgotten; blobs put, removed; entries removed, added (queue,
 *          record and score)
 *
 * Everything is named by its place, counted from 1 as in Lua.
 */
export function commitCall(keys: PartitionKeys, batch: Batch, settings: CallSettings): (string | Buffer)[] {
	const records = new Map<string, number>();
	const queues = new Map<string, number>();
	const blobs = new Map<string, number>();
	const scores = new Map<string, number>();
	const shape: number[] = [];
	const bodies: (string | Buffer)[] = [];
	let versions = "";
	let events = "";
	let lengths = "";
	let writes = false;

	// Units that name the same entry must move it one after the other; all others are moved together.
	const entries = new Set<number>();
	let entriesNamed = 0;
	const takeEntries = (taken: readonly IndexEntry[]): void => {
		shape.push(taken.length);
		entriesNamed += taken.length;
		for (const { queue, key, score } of taken) {
			const inQueue = placeOf(queues, queue);
			const record = placeOf(records, key);
			const at = placeOf(scores, String(score));
			entries.add((inQueue * PLACES + record) * PLACES + at);
			shape.push(inQueue, record, at);
		}
	};
	const takeUnit = (unit: Unit): void => {
		shape.push(unit.wantsTurn ? 1 : 0, unit.expected.length);
		for (const [key, version] of unit.expected) {
			shape.push(placeOf(records, key));
			versions += String(version).padStart(VERSION_WIDTH, "0");
		}
		shape.push(unit.put.length);
		for (const { key, doc } of unit.put) {
			shape.push(placeOf(records, key));
			bodies.push(toText(doc));
		}
		shape.push(unit.removed.length);
		for (const key of unit.removed) shape.push(placeOf(records, key));
		shape.push(unit.events.length);
		for (const { owner } of unit.events) shape.push(placeOf(records, owner));
		const told = encodeEvents(unit.events);
		events += told;
		lengths += String(Buffer.byteLength(told)).padStart(LENGTH_WIDTH);
		shape.push(unit.forgotten.length);
		for (const owner of unit.forgotten) shape.push(placeOf(records, owner));
		shape.push(unit.blobs.length);
		for (const { key, bytes } of unit.blobs) {
			shape.push(placeOf(blobs, key));
			bodies.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
		}
		shape.push(unit.blobsRemoved.length);
		for (const key of unit.blobsRemoved) shape.push(placeOf(blobs, key));
		takeEntries(unit.indexRemoved);
		takeEntries(unit.indexAdded);
		writes ||= hasWrites(unit);
	};
	for (const unit of batch.units) takeUnit(unit);

	const counts = [batch.units.length, records.size, queues.size, blobs.size, queues.get(DUE) ?? 0];
	counts.push(keys.prefixBytes, scores.size, writes ? 1 : 0, entries.size < entriesNamed ? 1 : 0);
	const call: (string | Buffer)[] = [String(keys.fixed.length + 2 * records.size + queues.size + blobs.size)];
	for (const key of keys.fixed) call.push(key);
	for (const key of records.keys()) call.push(keys.version(key));
	for (const key of records.keys()) call.push(keys.record(key));
	for (const name of queues.keys()) call.push(keys.queue(name));
	for (const key of blobs.keys()) call.push(keys.blob(key));
	const { clock, channel, partition } = settings;
	call.push(packed(counts, shape), clock, `e:${toText(batch.engine)}`, String(batch.number), String(batch.at));
	call.push(versions, channel, partition, events, lengths);
	for (const score of scores.keys()) call.push(score);
	for (const body of bodies) call.push(body);
	return call;
}

function placeOf(places: Map<string, number>, name: string): number {
	const known = places.get(name);
	if (known !== undefined) return known;
	places.set(name, places.size + 1);
	return places.size;
}

/** Numbers as ASCII text: one character each, or two when one of them is large. */
function packed(...parts: readonly (readonly number[])[]): string {
	let largest = 0;
	let count = 0;
	for (const numbers of parts) {
		count += numbers.length;
		for (const number of numbers) if (number > largest) largest = number;
	}
	if (largest >= PLACES) throw new RangeError(`a batch may name fewer than ${PLACES} records, not ${largest}`);
	const wide = largest >= 128;
	const bytes = Buffer.allocUnsafe(1 + count * (wide ? 2 : 1));
	let at = bytes.writeUInt8(wide ? 2 : 1);
	for (const numbers of parts) {
		for (const number of numbers) {
			if (wide) bytes[at++] = number >> 7;
			bytes[at++] = number & 127;
		}
	}
	return bytes.toString("latin1");
}
