import type { RecordFormat } from "../port.ts";
import type { SqliteThread } from "./sqlite-thread.ts";

const PAGE = 500;

export interface Migration {
	thread: SqliteThread;
	file: number;
	partitions: number;
	/** The format of what is stored. */
	from: number;
	format: RecordFormat;
}

/** Rewrites every document and builds the index anew, all in one transaction; what fails half-way is undone by closing. */
export async function migrateRecords({ thread, file, partitions, from, format }: Migration): Promise<void> {
	await thread.ask("beginRewriting", file, 0);
	for (let partition = 0; partition < partitions; partition++) {
		let cursor: string | undefined;
		do {
			const page = await thread.ask("scan", file, 0, partition, cursor, PAGE);
			const rewritten = page.records.map(({ key, doc }) => {
				const migrated = format.migrate(from, key, doc);
				const places = format.indexOf(key, migrated);
				return migrated === doc ? { key, places } : { key, doc: migrated, places };
			});
			await thread.ask("rewrite", file, 0, partition, rewritten);
			cursor = page.cursor;
		} while (cursor !== undefined);
	}
	await thread.ask("finishRewriting", file, 0, format.format);
}
