import type { Engine } from "../../src/engine/engine.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { FlowFabric } from "../../src/index.ts";
import type { BenchServer } from "./bench-server.ts";

/** What every scenario on Valkey is given. */
export interface ValkeyBench {
	server: BenchServer;
	partitions: number;
	rounds: number;
	size: number;
	/** How much work waits in the growth scenario. */
	queued: number;
	/** How many run at the same time, in all engines together, where there are several. */
	handlers: number;
	/** How long nothing happens in the idle scenario. */
	idleMs: number;
	progress(text: string): void;
}

let stores = 0;

/** A URL of a store that is not there yet. */
export const newStore = (server: BenchServer): string => `${server.url}?prefix=bench-${process.pid}-${++stores}`;

/** An engine of this process on a store of its own. */
export async function openOn(server: BenchServer, partitions: number, url = newStore(server)) {
	const ff = await FlowFabric.open(url, { partitions, onFault: () => {} });
	const { engine }: { engine: Engine } = ff.backend as LocalBackend;
	return { ff, engine, url, close: () => ff.close() };
}
