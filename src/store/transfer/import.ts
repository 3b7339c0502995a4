import { randomUUID } from "node:crypto";
import { placeOfEarlierEvent } from "../earlier-events.ts";
import { type RecordFormat, type Store, type Unit, unitOf } from "../port.ts";
import { allBlobKeys, allRecords } from "../scanning.ts";
import {
	type BlobLine,
	type Counts,
	type EventLine,
	type HeaderLine,
	ImportError,
	parseLine,
	type RecordLine,
} from "./line.ts";
import { UnitSender } from "./unit-sender.ts";

export interface ImportOptions {
	format: RecordFormat;
	/**
	 * The partition a record, a blob or an owner of events belongs to, by its key; undefined for what every partition
	 * keeps a copy of.
	 */
	partitionOf(key: string): number | undefined;
	/** Records that a store which was never used may have already; one that is imported takes their place. */
	isReplaced?(key: string): boolean;
}

/**
 * Takes an export into an empty store, through ordinary commits. Documents of an earlier format are brought up to date,
 * the index is built from them, and the store may have another number of partitions than the one exported. If it fails
 * half-way the store holds a part: start again with an empty one.
 */
export async function importStore(
	store: Store,
	lines: AsyncIterable<string> | Iterable<string>,
	options: ImportOptions,
): Promise<Counts> {
	const replaced = await refuseUnlessEmpty(store, options);
	const sender = new UnitSender(store, `import-${randomUUID()}`);
	const counts: Counts = { records: 0, blobs: 0, events: 0 };
	let unpacker: Unpacker | undefined;
	let number = 0;
	let ended = false;
	for await (const text of lines) {
		number += 1;
		if (ended) throw new ImportError("comes after the end", number);
		const line = parseLine(text, number);
		if ("flowfabric" in line) {
			if (unpacker) throw new ImportError("is a second header", number);
			checkHeader(line, options.format, number);
			unpacker = new Unpacker(line, store.partitions, options, replaced);
		} else if (!unpacker) {
			throw new ImportError("must be the header of an export", number);
		} else if ("end" in line) {
			checkEnd(line.end, counts, number);
			ended = true;
		} else {
			for (const [partition, unit] of unpacker.unpack(line, number)) await sender.add(partition, unit, number);
			counts["record" in line ? "records" : "blob" in line ? "blobs" : "events"] += 1;
		}
	}
	if (!ended) throw new ImportError(`the export ends after line ${number} without its last line: it is cut short`);
	await sender.flush();
	return counts;
}

/** Turns lines into units, each with the partition it goes to. */
class Unpacker {
	readonly #header: HeaderLine;
	readonly #partitions: number;
	readonly #options: ImportOptions;
	/** Versions of what is there already. */
	readonly #replaced: ReadonlyMap<string, number>;
	/** Keys with copies everywhere that were written everywhere already. */
	readonly #copied = new Set<string>();

	constructor(header: HeaderLine, partitions: number, options: ImportOptions, replaced: ReadonlyMap<string, number>) {
		this.#header = header;
		this.#partitions = partitions;
		this.#options = options;
		this.#replaced = replaced;
	}

	unpack(line: RecordLine | BlobLine | EventLine, number: number): [partition: number, unit: Unit][] {
		if (line.partition < 0 || line.partition >= this.#header.partitions) {
			throw new ImportError(`partition: must be 0 to ${this.#header.partitions - 1}, not ${line.partition}`, number);
		}
		const key = "record" in line ? line.record : "blob" in line ? line.blob : line.event;
		const unit = this.#unit(line, number);
		return this.#targets(key, line, number).map((partition) => [partition, unit]);
	}

	/**
	 * Copies of one key stay apart when the partitions are as many as they were. Otherwise all partitions get the first
	 * copy met, and the others are left out. A history is never copied.
	 */
	#targets(key: string, line: RecordLine | BlobLine | EventLine, number: number): number[] {
		const partition = this.#options.partitionOf(key);
		if (partition !== undefined) {
			if (Number.isInteger(partition) && partition >= 0 && partition < this.#partitions) return [partition];
			throw new ImportError(`${key} belongs to partition ${partition}, which the store does not have`, number);
		}
		if (this.#header.partitions === this.#partitions) return [line.partition];
		if ("event" in line) return [line.partition % this.#partitions];
		const copy = `${"record" in line ? "record" : "blob"} ${key}`;
		if (this.#copied.has(copy)) return [];
		this.#copied.add(copy);
		return Array.from({ length: this.#partitions }, (_, target) => target);
	}

	#unit(line: RecordLine | BlobLine | EventLine, number: number): Unit {
		if ("blob" in line) return unitOf({ blobs: [{ key: line.blob, bytes: bytesOf(line.base64, number) }] });
		if ("event" in line) {
			const { event: owner, log, group, at, body } = line;
			const place = log === undefined ? placeOfEarlierEvent(body) : { log, ...(group === undefined ? {} : { group }) };
			return unitOf({ events: [{ ...place, owner, at, body }] });
		}
		const { format } = this.#options;
		const key = line.record;
		const doc = this.#header.format < format.format ? this.#migrate(line, number) : line.doc;
		const indexAdded = format.indexOf(key, doc).map(({ queue, score }) => ({ queue, score, key }));
		return unitOf({ expected: [[key, this.#replaced.get(key) ?? 0]], put: [{ key, doc }], indexAdded });
	}

	#migrate({ record, doc }: RecordLine, number: number): string {
		try {
			return this.#options.format.migrate(this.#header.format, record, doc);
		} catch (error) {
			throw new ImportError(`doc: cannot be brought up to date from format ${this.#header.format}`, number, error);
		}
	}
}

function bytesOf(base64: string, line: number): Buffer {
	const bytes = Buffer.from(base64, "base64");
	if (bytes.toString("base64") !== base64) throw new ImportError("base64: must be base64", line);
	return bytes;
}

function checkHeader(header: HeaderLine, format: RecordFormat, line: number): void {
	if (header.flowfabric !== "export") throw new ImportError('flowfabric: must be "export"', line);
	if (header.partitions < 1) throw new ImportError("partitions: must be at least 1", line);
	if (header.format > format.format) {
		throw new ImportError(
			`format: ${header.format} was written by a later version; this one knows formats up to ${format.format}`,
			line,
		);
	}
}

function checkEnd(told: Counts, found: Counts, line: number): void {
	for (const name of ["records", "blobs", "events"] as const) {
		if (told[name] !== found[name]) {
			throw new ImportError(
				`the export had ${told[name]} ${name}, but ${found[name]} were found: lines are missing`,
				line,
			);
		}
	}
}

/** The versions of what is there and does not count. */
async function refuseUnlessEmpty(store: Store, { isReplaced }: ImportOptions): Promise<Map<string, number>> {
	const replaced = new Map<string, number>();
	for (let partition = 0; partition < store.partitions; partition++) {
		const [{ commit }, { logs }, { queues }] = await Promise.all([
			store.lastCommit(partition),
			store.logs(partition),
			store.queues(partition, ""),
		]);
		let isEmpty = logs.length + queues.length === 0;
		for await (const { key, version } of commit > 0 ? allRecords(store, partition, 1) : []) {
			if (isReplaced?.(key)) replaced.set(key, version);
			else isEmpty = false;
			if (!isEmpty) break;
		}
		for await (const _ of commit > 0 && isEmpty ? allBlobKeys(store, partition, 1) : []) {
			isEmpty = false;
			break;
		}
		if (!isEmpty)
			throw new ImportError(
				`the store is not empty: partition ${partition} contains data; import into a new store`,
				undefined,
				undefined,
				"store_not_empty",
			);
	}
	return replaced;
}
