import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { FlowFabricError } from "../contract/errors.ts";
import type { BackupRequest } from "../contract/keys.ts";
import { refuseUnknownOptions } from "../contract/option-names.ts";
import { isLeftOut, isSecret, slotOfKey } from "../kernel/record-types.ts";
import { exportStore } from "../store/transfer/export.ts";
import { importStore } from "../store/transfer/import.ts";
import { type Counts, ImportError } from "../store/transfer/line.ts";
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
		yield* exportStore(store, { ...recordFormat, isLeftOut: (key) => isLeftOut(key, keys) });
	} finally {
		await store.close();
	}
}

/** Takes such a file into an empty store, which may have another number of partitions. */
export async function importFile(path: string, url: string, options: { partitions?: number } = {}): Promise<Counts> {
	refuseUnknownOptions("importFile()", options, ["partitions"]);
	return importLines(linesOf(createReadStream(path)), url, options, path);
}

/** Takes in what such a file holds; refusals name it by `path`. */
export async function importLines(
	lines: AsyncIterable<string>,
	url: string,
	options: { partitions?: number } = {},
	path = "",
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
	} catch (error) {
		throw importError(path, error);
	} finally {
		await store.close();
	}
}

/** What is wrong with the file, or the store, as any other refusal. */
function importError(path: string, error: unknown): unknown {
	if (error instanceof ImportError) {
		const { code, message, line } = error;
		const about = code === "import_invalid" && path !== "" ? `${path}: ${message}` : message;
		const details = { ...(path === "" ? undefined : { path }), ...(line === undefined ? undefined : { line }) };
		return new FlowFabricError(code, { message: about, details, cause: error });
	}
	const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
	if (code === undefined || syscall === undefined) return error;
	const problem = code === "ENOENT" ? "there is no such file" : `cannot be read (${code})`;
	return new FlowFabricError("import_invalid", { message: `${path}: ${problem}`, details: { path }, cause: error });
}

/** Read from the first line asked for: a reader begins at once, and drops lines that nobody takes yet. */
export async function* linesOf(input: Readable): AsyncGenerator<string> {
	yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}
