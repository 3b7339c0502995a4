import type { Store, StoredRecord } from "../../src/store/port.ts";
import { allBlobKeys, allRecords } from "../../src/store/scanning.ts";

const PAGE = 10;

/** All records of a partition, in the order of their keys. */
export async function recordsOf(store: Store, partition: number): Promise<StoredRecord[]> {
	const found: StoredRecord[] = [];
	for await (const record of allRecords(store, partition, PAGE)) found.push(record);
	return found.sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Keys of all blobs of a partition, in order. */
export async function blobKeysOf(store: Store, partition: number): Promise<string[]> {
	const found: string[] = [];
	for await (const key of allBlobKeys(store, partition, PAGE)) found.push(key);
	return found.sort();
}
