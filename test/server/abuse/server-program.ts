import { openBackend } from "../../../src/library/open.ts";
import { makeLog } from "../../../src/server/log.ts";
import type { TokenEntry } from "../../../src/server/options.ts";
import { serveEngine } from "../../../src/server/server.ts";
import { type LoopFigures, LoopWatch } from "./loop-watch.ts";

/** The server that is attacked, alone in its process: its event loop and its memory are its own. */

export interface ServerOrder {
	store: string;
	tokens: TokenEntry[];
}

export type ServerQuestion = { ask: "memory" | "loop" | "connections" } | { ask: "close" };

export interface ServerAnswers {
	address: string;
	memory: { liveMb: number; residentMb: number };
	loop: LoopFigures;
	connections: number;
	/** A line of the log that a healthy server does not write. */
	error: string;
}

const MB = 1024 * 1024;
/** A level of pino's. */
const ERROR = 50;
const LOOKS = 5;

/** Short, so that whoever is to be cut off is cut off before the test looks whether all was given back. */
const UNREAD_MS = 5000;
const REQUEST_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 10_000;

const tell = (answer: Partial<ServerAnswers>): void => void process.send?.(answer);

const { store, tokens } = JSON.parse(process.argv[2] ?? "{}") as ServerOrder;
const watch = new LoopWatch();
let isServing = false;
const backend = await openBackend(store, {
	partitions: 4,
	onFault({ about, error, subjects }) {
		// What is told at the start is about the set-up of the store.
		if (isServing) tell({ error: `${about}: ${String(error)} (${subjects.join(", ")})` });
	},
});
const server = await serveEngine({
	engine: backend.engine,
	backendFor: (caller) => backend.as(caller),
	port: 0,
	tokens,
	unreadMs: UNREAD_MS,
	requestTimeoutMs: REQUEST_TIMEOUT_MS,
	keepAliveMs: KEEP_ALIVE_MS,
	log: makeLog({
		level: "info",
		write(line) {
			if ((JSON.parse(line) as { level: number }).level >= ERROR) tell({ error: line });
		},
	}),
});

process.on("message", async ({ ask }: ServerQuestion) => {
	if (ask === "memory") tell({ memory: await memory() });
	else if (ask === "loop") tell({ loop: watch.figures() });
	else if (ask === "connections") tell({ connections: await watch.connections() });
	else {
		await server.close();
		await backend.close();
		process.disconnect();
	}
});
// Whoever started it is gone.
process.once("disconnect", () => process.exit());
isServing = true;
tell({ address: server.address });

/** In the heap and beside it, without what nobody holds any more: the least of several looks, since work goes on. */
async function memory(): Promise<ServerAnswers["memory"]> {
	let least = Number.POSITIVE_INFINITY;
	for (let look = 0; look < LOOKS; look++) {
		globalThis.gc?.();
		await new Promise((resolve) => setTimeout(resolve, 50));
		const { heapUsed, external } = process.memoryUsage();
		least = Math.min(least, heapUsed + external);
	}
	return { liveMb: least / MB, residentMb: process.memoryUsage.rss() / MB };
}
