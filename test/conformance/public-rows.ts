import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { type Calls, FlowFabric } from "../../src/index.ts";
import { openBackend } from "../../src/library/open.ts";
import type { TokenEntry } from "../../src/server/options.ts";
import { serveEngine } from "../../src/server/server.ts";
import type { Store } from "../../src/store/port.ts";
import type { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { sharedCluster } from "../servers/valkey-cluster.ts";
import { hasValkey, ownStore, type StoreHost, sharedValkey } from "../servers/valkey-server.ts";
import { socketTraffic } from "./socket-traffic.ts";
import { storeTraffic } from "./store-traffic.ts";

/** Settings a case may ask for; a server would be started with them. */
export interface FabricSettings {
	retentionMs?: number;
	actor?: string;
	scanners?: { namespaces?: string[]; tags?: string[] };
	waitpointSecretHex?: string;
	waitpointGraceMs?: number;
	publicUrl?: string;
}

/** Somebody else who calls the same FlowFabric; over HTTP one with a token of its own. */
export interface OtherCaller {
	actor: string;
	namespace?: string;
}

/** FlowFabric on a new, empty store, and how to part with it. */
export interface OpenFabric {
	ff: FlowFabric;
	/** Where it keeps everything, for cases about what is left behind. */
	store: Store;
	as(caller: OtherCaller): Calls;
	/** Closes, lets `meanwhile` happen while nobody minds the store, and opens again; only where something is kept. */
	reopen?(meanwhile: () => Promise<void>): Promise<FlowFabric>;
	discard(): Promise<void>;
}

/** One way to reach FlowFabric. */
export interface PublicRow {
	name: string;
	/** What was accepted is still there after closing and opening again. */
	keeps: boolean;
	open(clock: VirtualClock, settings: FabricSettings): Promise<OpenFabric>;
}

/** How programs reach the engine. */
interface Way {
	prefix: string;
	open(url: string, partitions: number, clock: VirtualClock, settings: FabricSettings): Promise<Reached>;
}

type Reached = Pick<OpenFabric, "ff" | "as" | "store"> & { close(): Promise<void> };

/** In the days that some cases let pass, an engine has nobody to tell that it is there. */
const timeOf = (clock: VirtualClock) => ({ now: clock.now, clock, aloneMs: 300_000 });

const inProcess: Way = {
	prefix: "",
	async open(url, partitions, clock, settings) {
		const ff = await FlowFabric.open(url, { partitions, ...settings, testClock: timeOf(clock) });
		const { backend } = ff;
		if (!(backend instanceof LocalBackend)) throw new TypeError("this row runs in process");
		const { store } = backend.engine;
		const calls = storeTraffic(store);
		clock.watch(() => !backend.engine.idle || calls.busy);
		return { ff, store, as: (caller) => backend.as(caller), close: () => ff.close() };
	},
};

/** Callers that cases speak as; over HTTP each has a token, and a token is known to the server from its start. */
const others: readonly OtherCaller[] = [
	{ actor: "ada", namespace: "a" },
	{ actor: "bob", namespace: "b" },
	{ actor: "root" },
];

const overHttp: Way = {
	prefix: "http over ",
	async open(url, partitions, clock, { actor = "local", ...settings }) {
		const local = await openBackend(url, { partitions, ...settings, testClock: timeOf(clock) });
		const server = await serveEngine({
			engine: local.engine,
			backendFor: (caller) => local.as(caller),
			port: 0,
			docs: false,
			tokens: [{ actor }, ...others].map(tokenEntry),
		});
		socketTraffic.servedAt(server.address);
		const calls = storeTraffic(local.engine.store);
		clock.watch(() => !local.engine.idle || calls.busy || socketTraffic.busy);
		const ff = FlowFabric.connect(server.address, { clock, token: tokenOf({ actor }) });
		const connections: FlowFabric[] = [ff];
		return {
			ff,
			store: local.engine.store,
			as(caller) {
				const connection = FlowFabric.connect(server.address, { clock, token: tokenOf(caller) });
				connections.push(connection);
				return connection.backend;
			},
			async close() {
				await Promise.all(connections.map((each) => each.close()));
				await server.close();
				await local.close();
			},
		};
	},
};

const tokenOf = ({ actor, namespace }: OtherCaller): string => `token-of-${actor}-in-${namespace ?? "all"}`;

const tokenEntry = (caller: OtherCaller): TokenEntry => ({
	name: caller.actor,
	role: "admin",
	...(caller.namespace === undefined ? undefined : { namespace: caller.namespace }),
	hash: createHash("sha256").update(tokenOf(caller)).digest("hex"),
});

export const publicRows: readonly PublicRow[] = [
	...[1, 8].flatMap((partitions) => [memoryRow(partitions, inProcess), sqliteRow(partitions, inProcess)]),
	memoryRow(1, overHttp),
	sqliteRow(8, overHttp),
];

/** In files of their own, so that they run beside each other. */
export const valkeyRows = onValkey(() => valkeyRow("valkey", sharedValkey, 8, inProcess));
export const clusterRows = onValkey(() => valkeyRow("valkey cluster", sharedCluster, 8, inProcess));
export const clusterOverHttpRows = onValkey(() => valkeyRow("valkey cluster", sharedCluster, 8, overHttp));

/** As many partitions as there can be. */
export const widestRows: readonly PublicRow[] = [
	memoryRow(256, inProcess),
	...onValkey(() => valkeyRow("valkey", sharedValkey, 256, inProcess)),
];
export const widestClusterRows = onValkey(() => valkeyRow("valkey cluster", sharedCluster, 256, inProcess));

function onValkey(row: () => PublicRow): readonly PublicRow[] {
	return hasValkey() ? [row()] : [];
}

function memoryRow(partitions: number, way: Way): PublicRow {
	return {
		name: `${way.prefix}memory ×${partitions}`,
		keeps: false,
		async open(clock, settings) {
			const { close, ...reached } = await way.open("memory:", partitions, clock, settings);
			return { ...reached, discard: close };
		},
	};
}

function sqliteRow(partitions: number, way: Way): PublicRow {
	return keepingRow("sqlite", partitions, way, async () => {
		const folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
		return { url: `sqlite:${join(folder, "store.db")}`, drop: () => rm(folder, { recursive: true }) };
	});
}

function valkeyRow(name: string, server: () => Promise<StoreHost>, partitions: number, way: Way): PublicRow {
	return keepingRow(name, partitions, way, async () => ownStore(await server()));
}

/** Where a new store is to be, and how to leave nothing of it behind. */
interface NewStore {
	url: string;
	drop(): Promise<unknown>;
}

function keepingRow(name: string, partitions: number, way: Way, newStore: () => Promise<NewStore>): PublicRow {
	return {
		name: `${way.prefix}${name} ×${partitions}`,
		keeps: true,
		async open(clock, settings) {
			const { url, drop } = await newStore();
			let reached = await way.open(url, partitions, clock, settings);
			return {
				ff: reached.ff,
				get store() {
					return reached.store;
				},
				as: (caller) => reached.as(caller),
				async reopen(meanwhile) {
					await reached.close();
					clock.watch(() => false);
					await meanwhile();
					reached = await way.open(url, partitions, clock, settings);
					return reached.ff;
				},
				async discard() {
					await reached.close();
					await drop();
				},
			};
		},
	};
}
