import type { Store, StoredRecord } from "./port.ts";

type Scanned = Pick<Store, "scan" | "scanBlobs" | "scansRepeat">;

/** Every record of a partition, once. */
export async function* allRecords(store: Scanned, partition: number, page: number): AsyncIterable<StoredRecord> {
	const isNew = firstTime(store);
	let cursor: string | undefined;
	do {
		const found = await store.scan(partition, cursor, page);
		for (const record of found.records) if (isNew(record.key)) yield record;
		cursor = found.cursor;
	} while (cursor !== undefined);
}

/** The key of every blob of a partition, once. */
export async function* allBlobKeys(store: Scanned, partition: number, page: number): AsyncIterable<string> {
	const isNew = firstTime(store);
	let cursor: string | undefined;
	do {
		const found = await store.scanBlobs(partition, cursor, page);
		for (const key of found.keys) if (isNew(key)) yield key;
		cursor = found.cursor;
	} while (cursor !== undefined);
}

/** Remembers keys only where a scan may repeat them. */
function firstTime({ scansRepeat }: Scanned): (key: string) => boolean {
	if (!scansRepeat) return () => true;
	const seen = new Set<string>();
	return (key) => {
		if (seen.has(key)) return false;
		seen.add(key);
		return true;
	};
}
