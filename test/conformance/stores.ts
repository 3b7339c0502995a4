import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FORMAT, indexOf, migrate } from "../../src/kernel/format.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import type { RecordFormat, Store } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { openValkeyStore } from "../../src/store/valkey/open.ts";
import { sharedCluster } from "../servers/valkey-cluster.ts";
import { hasValkey, ownStore, type StoreHost, sharedValkey } from "../servers/valkey-server.ts";

export const format: RecordFormat = { format: FORMAT, migrate, indexOf };

/** The time of a store under test: it moves only when a case moves it. */
export class TestClock {
	now = 1_700_000_000_000;
	readonly read = (): number => this.now;
}

/** A new, empty store, and how to part with it. */
export interface OpenStore {
	store: Store;
	/** Closes the store and opens it again; a store that keeps nothing beyond its process simply goes on. */
	reopen(): Promise<Store>;
	/** Closes the store and leaves nothing behind. */
	discard(): Promise<void>;
}

export interface StoreRow {
	name: string;
	partitions: number;
	open(clock: TestClock): Promise<OpenStore>;
}

type Opener = (partitions: number, clock: TestClock) => Promise<OpenStore>;

/** Every store that must pass the suites, with one partition and with several. */
export const stores: readonly StoreRow[] = [
	...withPartitions("memory", openMemory),
	...withPartitions("sqlite", openSqlite),
	...(hasValkey()
		? [
				...withPartitions("valkey", (...given) => openValkey(sharedValkey, ...given)),
				...withPartitions("valkey cluster", (...given) => openValkey(sharedCluster, ...given), [8]),
			]
		: []),
];

function withPartitions(name: string, open: Opener, counts = [1, 8]): StoreRow[] {
	return counts.map((partitions) => ({
		name: `${name} ×${partitions}`,
		partitions,
		open: (clock) => open(partitions, clock),
	}));
}

async function openMemory(partitions: number, clock: TestClock): Promise<OpenStore> {
	const store = new MemoryStore(partitions, clock.read);
	return { store, reopen: async () => store, discard: () => store.close() };
}

async function openSqlite(partitions: number, clock: TestClock): Promise<OpenStore> {
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
	const open = (): Promise<Store> =>
		openSqliteStore(join(folder, "store.db"), { partitions, format, testClock: clock.read });
	const opened = {
		store: await open(),
		async reopen() {
			await opened.store.close();
			opened.store = await open();
			return opened.store;
		},
		async discard() {
			await opened.store.close();
			await rm(folder, { recursive: true });
		},
	};
	return opened;
}

async function openValkey(server: () => Promise<StoreHost>, partitions: number, clock: TestClock): Promise<OpenStore> {
	const { url, drop } = ownStore(await server());
	const open = (): Promise<Store> => openValkeyStore(url, { partitions, format, testClock: clock.read });
	// A store that nobody else has open tells nobody; cases listen to what others would be told.
	const other = await open();
	const opened = {
		store: await open(),
		async reopen() {
			await opened.store.close();
			opened.store = await open();
			return opened.store;
		},
		async discard() {
			await opened.store.close();
			await other.close();
			await drop();
		},
	};
	return opened;
}
