import type { Server } from "node:http";
import type { Socket } from "node:net";
import { unsentTo } from "./answer-pieces.ts";

/** How long a peer may take to close its end once ours is closed. */
const CLOSING_MS = 5000;
/** Share of all connections from which on idle ones are closed to make room. */
const CROWDED = 0.9;
/** How often it is summed what all readers have not taken yet: in between, answers for some 100 MB more can be made. */
const SUM_MS = 250;

export interface ConnectionLimits {
	/** How long a reader may take nothing of its answer before it is cut off. */
	unreadMs: number;
	/** How many bytes may wait for all readers together before those that hold most of them are cut off. */
	unsentBytes: number;
	/** How many there are now. */
	onCount(open: number): void;
	/** A reader was cut off. */
	onCut(): void;
}

interface Watched {
	/** Bytes that have left, and since when there were no more. */
	sent: number;
	since: number;
}

export interface Connections {
	/** Those that are open now. */
	readonly sockets: Iterable<Socket>;
	stop(): void;
}

/**
 * Takes connections back from those who only hold them: readers that do not read, whose answers fill our memory, and peers
 * that never close their end. Node closes those that do not finish a request in time.
 */
export function watchConnections(server: Server, limits: ConnectionLimits): Connections {
	const { unreadMs, unsentBytes, onCount, onCut } = limits;
	const watched = new Map<Socket, Watched>();
	let isCrowded = false;
	server.on("connection", (socket: Socket) => {
		watched.set(socket, { sent: 0, since: performance.now() });
		onCount(watched.size);
		socket.once("close", () => {
			watched.delete(socket);
			onCount(watched.size);
		});
		if (!isCrowded) makeRoom();
	});
	/** Those that come within a second find room made once: to look at every connection for each new one would take long. */
	const makeRoom = () => {
		isCrowded = watched.size >= CROWDED * server.maxConnections;
		if (isCrowded) server.closeIdleConnections();
	};
	const check = () => {
		const now = performance.now();
		makeRoom();
		for (const [socket, state] of watched) {
			const { sent, since } = state;
			state.sent = socket.bytesWritten - socket.writableLength;
			const isStuck = socket.writableFinished || socket.writableLength > 0;
			if (!isStuck || state.sent !== sent) state.since = now;
			else if (now - since >= (socket.writableFinished ? Math.min(CLOSING_MS, unreadMs) : unreadMs)) {
				if (!socket.writableFinished) onCut();
				socket.destroy();
			}
		}
	};
	const sum = () => {
		for (const socket of holdersOfMost(watched.keys(), unsentBytes)) {
			onCut();
			socket.destroy();
		}
	};
	const timers = [setInterval(check, Math.min(1000, unreadMs / 4)), setInterval(sum, SUM_MS)];
	for (const timer of timers) timer.unref();
	return {
		sockets: { [Symbol.iterator]: () => watched.keys() },
		stop() {
			for (const timer of timers) clearInterval(timer);
		},
	};
}

/** Whom to cut so that no more than `most` bytes wait: few readers each may take long, but not many together. */
function holdersOfMost(sockets: Iterable<Socket>, most: number): Socket[] {
	const holders: { socket: Socket; unsent: number }[] = [];
	let total = 0;
	for (const socket of sockets) {
		const unsent = unsentTo(socket);
		if (unsent === 0) continue;
		holders.push({ socket, unsent });
		total += unsent;
	}
	const cut: Socket[] = [];
	if (total <= most) return cut;
	for (const { socket, unsent } of holders.toSorted((a, b) => b.unsent - a.unsent)) {
		if (total <= most) break;
		cut.push(socket);
		total -= unsent;
	}
	return cut;
}
