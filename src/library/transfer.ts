import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
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
	const store = await openStoreAt(url);
	try {
		await writeLines(exportStore(store, { ...recordFormat, isLeftOut: (key) => !keys && isSecret(key) }), path, keys);
	} finally {
		await store.close();
	}
}

/** Takes such a file into an empty store, which may have another number of partitions. */
export async function importFile(path: string, url: string, options: { partitions?: number } = {}): Promise<Counts> {
	const store = await openStoreAt(url, options);
	try {
		return await importStore(store, linesOf(path), {
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

/** Opened with the first line asked for: a reader begins at once, and drops lines that nobody takes yet. */
async function* linesOf(path: string): AsyncGenerator<string> {
	yield* createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
}
