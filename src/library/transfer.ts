import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { BackupRequest } from "../contract/keys.ts";
import { isSecret, slotOfKey } from "../kernel/record-types.ts";
import { exportStore } from "../store/transfer/export.ts";
import { importStore } from "../store/transfer/import.ts";
import type { Counts } from "../store/transfer/line.ts";
import { writeLines } from "./lines.ts";
import { openStoreAt, recordFormat } from "./open.ts";

/** Back-up, and moving between stores or partition counts: everything a store holds as a file of JSON lines. */

/** Writes all of a store to a new file, secrets only with `keys`. The store must not be open elsewhere. */
export async function exportFile(url: string, path: string, { keys = false }: BackupRequest = {}): Promise<void> {
	await writeLines(exportLines(url, { keys }), path, keys);
}

/** What `exportFile` writes; the store is open from the first line asked for until the last. */
export async function* exportLines(url: string, { keys = false }: BackupRequest = {}): AsyncGenerator<string> {
	const store = await openStoreAt(url);
	try {
		yield* exportStore(store, { ...recordFormat, isLeftOut: (key) => !keys && isSecret(key) });
	} finally {
		await store.close();
	}
}

/** Takes such a file into an empty store, which may have another number of partitions. */
export function importFile(path: string, url: string, options: { partitions?: number } = {}): Promise<Counts> {
	return importLines(linesOf(createReadStream(path)), url, options);
}

/** Takes in what such a file holds. */
export async function importLines(
	lines: AsyncIterable<string>,
	url: string,
	options: { partitions?: number } = {},
): Promise<Counts> {
	const store = await openStoreAt(url, options);
	try {
		return await importStore(store, lines, {
			format: recordFormat,
			// Made when the store was first opened; what it signed is of nothing that is in there.
			isReplaced: isSecret,
			partitionOf(key) {
				const slot = slotOfKey(key);
				return slot === undefined ? undefined : slot % store.partitions;
			},
		});
	} finally {
		await store.close();
	}
}

/** Read from the first line asked for: a reader begins at once, and drops lines that nobody takes yet. */
export async function* linesOf(input: Readable): AsyncGenerator<string> {
	yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}
