import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../../src/engine/engine.ts";
import type { FlowFabric } from "../../src/index.ts";
import { openTarget, type StoreName } from "../target.ts";
import { newStore, openOn, type ValkeyBench } from "../valkey/valkey-bench.ts";
import { type BareStore, bareSqlite, bareValkey } from "./bare-appends.ts";

/** A FlowFabric of this process to measure streams on, and its store without one. */
export interface StreamsTarget {
	ff: FlowFabric;
	engine: Engine;
	/** A store of the same kind for bare appends, by so many at a time. Absent where there is nothing to compare with. */
	bare?(writers: number): Promise<BareStore>;
	/** Bytes the store takes by now. Absent where that cannot be told. */
	bytes?(): Promise<number>;
	/** Microseconds of CPU used so far, that of the server included. */
	cpuMicros(): Promise<number>;
	close(): Promise<void>;
}

/** What every measurement of streams is given. */
export interface StreamsBench {
	store: string;
	partitions: number;
	rounds: number;
	/** How long a tail does not read. */
	stuckMs: number;
	/** On a store that is not there yet, every time. */
	open(): Promise<StreamsTarget>;
	/** The URL of a store that is not there yet, for a server in another process, and what to do when that has ended. */
	place(): Promise<{ url: string; leave(): Promise<void> }>;
	progress(text: string): void;
}

type Settings = Pick<StreamsBench, "rounds" | "stuckMs" | "progress">;

export function localStreams(store: StoreName, partitions: number, settings: Settings): StreamsBench {
	return {
		...settings,
		store,
		partitions,
		open: () => openLocal(store, partitions),
		async place() {
			if (store === "memory") return { url: "memory:", leave: async () => {} };
			const folder = await mkdtemp(join(tmpdir(), "flowfabric-bench-"));
			return { url: `sqlite:${join(folder, "server.db")}`, leave: () => rm(folder, { recursive: true }) };
		},
	};
}

async function openLocal(store: StoreName, partitions: number): Promise<StreamsTarget> {
	const { ff, engine, folder, close } = await openTarget(store, partitions);
	const target: StreamsTarget = {
		ff,
		engine,
		close,
		async cpuMicros() {
			return ownMicros();
		},
	};
	if (store === "memory") return target;
	return {
		...target,
		bare: async () => bareSqlite(join(folder, "bare.db")),
		bytes: async () => (await engine.store.checkUp?.())?.bytes ?? Number.NaN,
	};
}

export function valkeyStreams({ server, partitions, rounds, idleMs, progress }: ValkeyBench): StreamsBench {
	return {
		store: "valkey",
		partitions,
		rounds,
		stuckMs: idleMs,
		progress,
		async open() {
			const { ff, engine, close } = await openOn(server, partitions);
			return {
				ff,
				engine,
				close,
				bare: (writers) => bareValkey(server.url, writers),
				bytes: async () => (await server.usage()).bytes,
				cpuMicros: async () => ownMicros() + (await server.usage()).micros,
			};
		},
		place: async () => ({ url: newStore(server), leave: async () => {} }),
	};
}

function ownMicros(): number {
	const { user, system } = process.cpuUsage();
	return user + system;
}
