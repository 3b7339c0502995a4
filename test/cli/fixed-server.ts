import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { FlowFabric } from "../../src/index.ts";
import { openStoreAt } from "../../src/library/open.ts";
import { silentLog } from "../../src/server/log.ts";
import { serveEngine } from "../../src/server/server.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** A real server on which nothing is left to chance: its time stands, and its ids are the same in every run. */
export interface FixedServer {
	url: string;
	ff: FlowFabric;
	clock: VirtualClock;
	close(): Promise<void>;
}

const DAY_MS = 86_400_000;

export async function startFixedServer(): Promise<FixedServer> {
	const clock = new VirtualClock();
	const store = await openStoreAt("memory:", { partitions: 1, testClock: clock.now });
	const random = seeded();
	const engine = new Engine({
		store,
		clock,
		random: () => random() / 2 ** 32,
		randomHex: (bytes) => Array.from({ length: bytes }, () => hexByte(random())).join(""),
		engineId: "fixed",
	});
	clock.watch(() => !engine.idle);
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "ann", retentionMs: DAY_MS });
	const server = await serveEngine({
		engine,
		backendFor: (caller) => backend.as(caller),
		host: "127.0.0.1",
		port: 0,
		log: silentLog(),
	});
	return {
		url: server.address,
		ff: new FlowFabric(backend),
		clock,
		async close() {
			await server.close();
			await backend.close();
		},
	};
}

const hexByte = (number: number): string => (number >>> 24).toString(16).padStart(2, "0");

/** Numbers of 32 bits that look drawn, the same in every run. */
function seeded(): () => number {
	let state = 0x9e3779b9;
	return () => {
		state ^= state << 13;
		state ^= state >>> 17;
		state ^= state << 5;
		return state >>> 0;
	};
}
