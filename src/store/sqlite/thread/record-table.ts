import { type StoredRecord, UNREADABLE, type Unit } from "../../port.ts";
import { orOnDamage } from "./damage.ts";
import type { RecordRow, Statements } from "./statements.ts";
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
		const unreadable = { version: UNREADABLE, doc: "" };
		const row = orOnDamage(() => this.#run.selectRecord.get(this.#partition, toText(key)), unreadable);
		return row ? recordOf(key, row) : { key, version: 0, doc: "" };
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
		/** What must not be there, and is not known to be there or not. */
		const absent = new Set<string>();
		for (const [key, version] of expected) {
			if (version === 0 && !this.#versions.has(key)) absent.add(key);
			else if (this.#versionOf(key) !== version) return false;
		}
		const created: Unit["put"] = [];
		const changed: Unit["put"] = [];
		for (const one of put) (absent.delete(one.key) ? created : changed).push(one);
		for (const key of absent) if (this.#versionOf(key) !== 0) return false;
		if (!this.#insert(created, commit)) return false;
		for (const one of changed) this.#put(one, commit);
		for (const key of removed) {
			this.#run.removeRecord.run(this.#partition, toText(key));
			this.#versions.set(key, 0);
		}
		return true;
	}

	/** Writes what must not be there yet; if some of it is, takes the rest back. */
	#insert(created: Unit["put"], commit: number): boolean {
		const { newRecords, removeRecordAt } = this.#run;
		let written = 0;
		for (const { key, doc } of created) {
			newRecords.add(this.#partition, toText(key), commit, toText(doc));
			if (newRecords.full) written += newRecords.flush();
		}
		written += newRecords.flush();
		if (written === created.length) {
			for (const { key } of created) this.#versions.set(key, commit);
			return true;
		}
		// Nothing else of this commit can stand under these keys: what it had written before is known to `#versions`.
		for (const { key } of created) removeRecordAt.run(this.#partition, toText(key), commit);
		return false;
	}

	#put({ key, doc }: Unit["put"][number], commit: number): void {
		this.#run.putRecord.run(this.#partition, toText(key), commit, toText(doc));
		this.#versions.set(key, commit);
	}

	#versionOf(key: string): number {
		let version = this.#versions.get(key);
		if (version === undefined) {
			// What was unreadable when it was read, and passed over, is what was expected if it still is.
			version = orOnDamage(() => this.#run.selectVersion.get(this.#partition, toText(key)) ?? 0, UNREADABLE);
			this.#versions.set(key, version);
		}
		return version;
	}
}

/** A row with a version that is no number is there, and cannot be read. */
export function recordOf(key: string, { version, doc }: Pick<RecordRow, "version" | "doc">): StoredRecord {
	if (!Number.isSafeInteger(version)) return { key, version: UNREADABLE, doc: "" };
	return { key, version, doc: fromText(doc) };
}
