import type { Server } from "node:http";
import type { Socket } from "node:net";

/** How long a peer may take to close its end once ours is closed. */
const CLOSING_MS = 5000;
/** Share of all connections from which on idle ones are closed to make room. */
const CROWDED = 0.9;

export interface ConnectionLimits {
	/** How long a reader may take nothing of its answer before it is cut off. */
	unreadMs: number;
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

/**
 * Takes connections back from those who only hold them: readers that do not read, whose answers fill our memory, and peers
 * that never close their end. Node closes those that do not finish a request in time. Returns what stops it.
 */
export function watchConnections(server: Server, { unreadMs, onCount, onCut }: ConnectionLimits): () => void {
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
	const timer = setInterval(check, Math.min(1000, unreadMs / 4));
	timer.unref();
	return () => clearInterval(timer);
}
