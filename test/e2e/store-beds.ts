import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sharedCluster } from "../servers/valkey-cluster.ts";
import { hasValkey, ownStore, type StoreHost, sharedValkey, startValkey } from "../servers/valkey-server.ts";

/** A store that outlives the programs that use it. */
export interface StoreBed {
	url: string;
	discard(): Promise<void>;
}

export interface BedRow {
	name: string;
	partitions: number;
	open(): Promise<StoreBed>;
}

/** Every store that programs can be killed on. */
export const storeBeds: readonly BedRow[] = [
	{ name: "sqlite", partitions: 1, open: openFile },
	{ name: "sqlite", partitions: 8, open: openFile },
	...(hasValkey() ? [8, 256] : []).flatMap((partitions) => [
		{ name: "valkey", partitions, open: () => openOn(sharedValkey) },
		{ name: "a valkey cluster", partitions, open: () => openOn(sharedCluster) },
	]),
];

/** One of each kind, set up so that `doctor` has nothing to warn of. */
export const durableBeds: readonly Pick<BedRow, "name" | "open">[] = [
	{ name: "sqlite", open: openFile },
	...(hasValkey() ? [{ name: "valkey", open: openLasting }] : []),
];

async function openFile(): Promise<StoreBed> {
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-bed-"));
	return { url: `sqlite:${join(folder, "store.db")}`, discard: () => rm(folder, { recursive: true }) };
}

async function openOn(server: () => Promise<StoreHost>): Promise<StoreBed> {
	const { url, drop } = ownStore(await server());
	return { url, discard: drop };
}

async function openLasting(): Promise<StoreBed> {
	const { url, stop } = await startValkey(["--appendonly", "yes", "--appendfsync", "always"]);
	return { url, discard: stop };
}
