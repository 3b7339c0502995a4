import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { FlowFabric } from "../../src/index.ts";
import { openBackend } from "../../src/library/open.ts";
import type { TokenEntry } from "../../src/server/options.ts";
import { startServer } from "../../src/server/server.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { socketTraffic } from "./socket-traffic.ts";

/** Settings a case may ask for; a server would be started with them. */
export interface FabricSettings {
	retentionMs?: number;
	actor?: string;
}

/** FlowFabric on a new, empty store, and how to part with it. */
export interface OpenFabric {
	ff: FlowFabric;
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

/** How a program reaches the engine. */
interface Way {
	prefix: string;
	open(url: string, partitions: number, clock: VirtualClock, settings: FabricSettings): Promise<FlowFabric>;
}

const inProcess: Way = {
	prefix: "",
	async open(url, partitions, clock, settings) {
		const ff = await FlowFabric.open(url, { partitions, ...settings, testClock: { now: clock.now, clock } });
		const { backend } = ff;
		if (backend instanceof LocalBackend) clock.watch(() => !backend.engine.idle);
		return ff;
	},
};

const overHttp: Way = {
	prefix: "http over ",
	async open(url, partitions, clock, settings) {
		const { actor, ...rest } = settings;
		const local = await openBackend(url, { partitions, ...rest, testClock: { now: clock.now, clock } });
		const server = await startServer({
			engine: local.engine,
			backendFor: (caller) => local.as(caller),
			port: 0,
			docs: false,
			...(actor === undefined ? undefined : { tokens: [tokenFor(actor)] }),
		});
		clock.watch(() => !local.engine.idle || socketTraffic.busy);
		const ff = FlowFabric.connect(server.address, { clock, ...(actor === undefined ? undefined : { token: TOKEN }) });
		return Object.assign(ff, {
			async close() {
				await FlowFabric.prototype.close.call(ff);
				await server.close();
				await local.close();
			},
		});
	},
};

const TOKEN = "a-token-for-one-test";

const tokenFor = (name: string): TokenEntry => ({
	name,
	role: "admin",
	hash: createHash("sha256").update(TOKEN).digest("hex"),
});

export const publicRows: readonly PublicRow[] = [
	...[1, 8].flatMap((partitions) => [memoryRow(partitions, inProcess), sqliteRow(partitions, inProcess)]),
	memoryRow(1, overHttp),
	sqliteRow(8, overHttp),
];

function memoryRow(partitions: number, way: Way): PublicRow {
	return {
		name: `${way.prefix}memory ×${partitions}`,
		keeps: false,
		async open(clock, settings) {
			const ff = await way.open("memory:", partitions, clock, settings);
			return { ff, discard: () => ff.close() };
		},
	};
}

function sqliteRow(partitions: number, way: Way): PublicRow {
	return {
		name: `${way.prefix}sqlite ×${partitions}`,
		keeps: true,
		open: (clock, settings) => openSqlite(partitions, way, clock, settings),
	};
}

async function openSqlite(
	partitions: number,
	way: Way,
	clock: VirtualClock,
	settings: FabricSettings,
): Promise<OpenFabric> {
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
	const url = `sqlite:${join(folder, "store.db")}`;
	let ff = await way.open(url, partitions, clock, settings);
	return {
		ff,
		async reopen(meanwhile) {
			await ff.close();
			clock.watch(() => false);
			await meanwhile();
			ff = await way.open(url, partitions, clock, settings);
			return ff;
		},
		async discard() {
			await ff.close();
			await rm(folder, { recursive: true });
		},
	};
}

