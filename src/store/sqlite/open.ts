import { type Store, StoreError, type StoreOptions } from "../port.ts";
import { storeClock } from "./clock.ts";
import { driverError } from "./driver-error.ts";
import { migrateRecords } from "./migrate.ts";
import { sqliteThread } from "./sqlite-thread.ts";
import { SqliteStore } from "./store.ts";

/** Opens the file, or makes it, and brings what an earlier version wrote up to date. */
export async function openSqliteStore(path: string, options: StoreOptions): Promise<Store> {
	const { format, testClock, partitions: wanted, mustExist } = options;
	const thread = sqliteThread();
	const asked = {
		...(wanted === undefined ? undefined : { partitions: wanted }),
		...(mustExist === undefined ? undefined : { mustExist }),
		format: format.format,
		testClock: testClock !== undefined,
	};
	const {
		file,
		partitions,
		format: stored,
		latestTold,
	} = await thread.ask("open", 0, 0, path, asked).catch((error) => {
		// The thread itself did not come up.
		throw driverError(error instanceof StoreError ? error.cause : undefined) ?? error;
	});
	const clock = testClock ?? storeClock(latestTold);
	const store = new SqliteStore({ thread, file, partitions, clock });
	if (stored === format.format) return store;
	try {
		await migrateRecords({ thread, file, partitions, from: stored, format });
		return store;
	} catch (error) {
		await store.close();
		throw error;
	}
}
