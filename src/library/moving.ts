import type { BackupRequest } from "../contract/keys.ts";
import type { Counts } from "../store/transfer/line.ts";

/** Stores are moved by few programs, so only these load what it takes. */
const transfer = () => import("./transfer.ts");

/** Writes all of a store to a new file, secrets only with `keys`. The store must not be open elsewhere. */
export async function exportFile(url: string, path: string, request: BackupRequest = {}): Promise<void> {
	await (await transfer()).exportFile(url, path, request);
}

/** Takes such a file into an empty store, which may have another number of partitions. */
export async function importFile(
	path: string,
	url: string,
	options: {
		/** Partitions of the store (8 on Valkey, else 1). */
		partitions?: number;
	} = {},
): Promise<Counts> {
	return (await transfer()).importFile(path, url, options);
}
