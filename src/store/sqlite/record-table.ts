import type { StoredRecord, Unit } from "../port.ts";
import type { Statements } from "./statements.ts";
import { fromText, toText } from "./text.ts";

/** The records of one partition: versions checked and documents written, unit by unit. */
export class RecordTable {
	readonly #partition: number;
	readonly #run: Statements;
	/** Versions seen or made by the batch at hand. */
	readonly #versions = new Map<string, number>();

	constructor(partition: number, statements: Statements) {
		this.#partition = partition;
		this.#run = statements;
	}

	read(key: string): StoredRecord {
		const row = this.#run.selectRecord.get(this.#partition, toText(key));
		return row ? { key, version: row.version, doc: fromText(row.doc) } : { key, version: 0, doc: "" };
	}

	beginBatch(): void {
		this.#versions.clear();
	}

	/**
	 * Checks every expected version and writes the records; false, and nothing is written, when one has changed. Reading a
	 * version costs as much as a write, so where it can the write itself checks, after all that had to be read.
	 */
	write(unit: Unit, commit: number): boolean {
		return unit.put.length + unit.removed.length === 1 ? this.#writeOne(unit, commit) : this.#writeMany(unit, commit);
	}

	#writeOne({ expected, put, removed }: Unit, commit: number): boolean {
		const [made] = put;
		const written = made?.key ?? (removed[0] as string);
		let from: number | undefined;
		for (const [key, version] of expected) {
			if (key === written) from = version;
			else if (this.#versionOf(key) !== version) return false;
		}
		if (!made) return this.#removeOne(written, from);
		if (from === undefined) {
			this.#put(made, commit);
			return true;
		}
		const key = toText(written);
		const doc = toText(made.doc);
		if (from === 0) this.#run.newRecords.add(this.#partition, key, commit, doc);
		const changes =
			from === 0
				? this.#run.newRecords.flush()
				: this.#run.updateRecord.run(commit, doc, this.#partition, key, from).changes;
		if (changes === 1) this.#versions.set(written, commit);
		return changes === 1;
	}

	#removeOne(key: string, from: number | undefined): boolean {
		if (from === 0) return this.#versionOf(key) === 0;
		if (from !== undefined && this.#run.removeRecordAt.run(this.#partition, toText(key), from).changes !== 1) {
			return false;
		}
		if (from === undefined) this.#run.removeRecord.run(this.#partition, toText(key));
		this.#versions.set(key, 0);
		return true;
	}

	#writeMany({ expected, put, removed }: Unit, commit: number): boolean {
		const puts = new Set<string>();
		for (const { key } of put) puts.add(key);
		const created = new Set<string>();
		for (const [key, version] of expected) {
			if (version === 0 && puts.has(key) && !this.#versions.has(key)) created.add(key);
			else if (this.#versionOf(key) !== version) return false;
		}
		if (created.size > 0 && !this.#insert(put, created, commit)) return false;
		for (const one of put) if (!created.has(one.key)) this.#put(one, commit);
		for (const key of removed) {
			this.#run.removeRecord.run(this.#partition, toText(key));
			this.#versions.set(key, 0);
		}
		return true;
	}

	/** Writes those of `put` that must not be there yet; if one is, takes the others back. */
	#insert(put: Unit["put"], created: ReadonlySet<string>, commit: number): boolean {
		const { newRecords, removeRecordAt } = this.#run;
		let written = 0;
		for (const { key, doc } of put) {
			if (!created.has(key)) continue;
			newRecords.add(this.#partition, toText(key), commit, toText(doc));
			if (newRecords.full) written += newRecords.flush();
		}
		written += newRecords.flush();
		if (written === created.size) {
			for (const key of created) this.#versions.set(key, commit);
			return true;
		}
		// Nothing else of this commit can stand under these keys: what it had written before is known to `#versions`.
		for (const key of created) removeRecordAt.run(this.#partition, toText(key), commit);
		return false;
	}

	#put({ key, doc }: Unit["put"][number], commit: number): void {
		this.#run.putRecord.run(this.#partition, toText(key), commit, toText(doc));
		this.#versions.set(key, commit);
	}

	#versionOf(key: string): number {
		let version = this.#versions.get(key);
		if (version === undefined) {
			version = this.#run.selectVersion.get(this.#partition, toText(key)) ?? 0;
			this.#versions.set(key, version);
		}
		return version;
	}
}
