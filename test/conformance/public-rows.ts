import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { type Calls, FlowFabric } from "../../src/index.ts";
import type { VirtualClock } from "../virtual-clock.ts";

/** Settings a case may ask for; a server would be started with them. */
export interface FabricSettings {
	retentionMs?: number;
	actor?: string;
}

/** Somebody else who calls the same FlowFabric; over HTTP one with a token of its own. */
export interface OtherCaller {
	actor: string;
	namespace?: string;
}

/** FlowFabric on a new, empty store, and how to part with it. */
export interface OpenFabric {
	ff: FlowFabric;
	as(caller: OtherCaller): Calls;
	/** Closes, lets `meanwhile` happen while nobody minds the store, and opens again; only where something is kept. */
	reopen?(meanwhile: () => Promise<void>): Promise<FlowFabric>;
	discard(): Promise<void>;
}

/** One way to reach FlowFabric. A connection over HTTP is one more of these. */
export interface PublicRow {
	name: string;
	/** What was accepted is still there after closing and opening again. */
	keeps: boolean;
	open(clock: VirtualClock, settings: FabricSettings): Promise<OpenFabric>;
}

export const publicRows: readonly PublicRow[] = [1, 8].flatMap((partitions) => [
	{
		name: `memory ×${partitions}`,
		keeps: false,
		async open(clock: VirtualClock, settings: FabricSettings): Promise<OpenFabric> {
			const ff = await open("memory:", partitions, clock, settings);
			return { ff, as: (caller) => asCaller(ff, caller), discard: () => ff.close() };
		},
	},
	{ name: `sqlite ×${partitions}`, keeps: true, open: (clock, settings) => openSqlite(partitions, clock, settings) },
]);

async function openSqlite(partitions: number, clock: VirtualClock, settings: FabricSettings): Promise<OpenFabric> {
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
	const url = `sqlite:${join(folder, "store.db")}`;
	let ff = await open(url, partitions, clock, settings);
	return {
		ff,
		as: (caller) => asCaller(ff, caller),
		async reopen(meanwhile) {
			await ff.close();
			clock.watch(() => false);
			await meanwhile();
			ff = await open(url, partitions, clock, settings);
			return ff;
		},
		async discard() {
			await ff.close();
			await rm(folder, { recursive: true });
		},
	};
}

async function open(url: string, partitions: number, clock: VirtualClock, settings: FabricSettings) {
	const ff = await FlowFabric.open(url, { partitions, ...settings, testClock: { now: clock.now, clock } });
	const { backend } = ff;
	if (backend instanceof LocalBackend) clock.watch(() => !backend.engine.idle);
	return ff;
}

function asCaller({ backend }: FlowFabric, caller: OtherCaller): Calls {
	if (!(backend instanceof LocalBackend)) throw new TypeError("this row runs in process");
	return backend.as(caller);
}
