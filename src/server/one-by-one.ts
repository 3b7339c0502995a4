import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests that may wait on a connection behind the one that is being answered. */
const MOST_WAITING = 64;

interface Exchange {
	request: IncomingMessage;
	response: ServerResponse;
}

/**
 * Begins the requests of a connection one after another, as they are answered anyway. Node hands over at once whatever a
 * connection has sent ahead: a thousand requests in one packet would keep the event loop until each of them was begun, and
 * fill every pool. Here others get their turn in between, and whoever sends too far ahead is cut off.
 */
export function oneByOne(handle: RequestListener, onCut: () => void): RequestListener {
	const lines = new WeakMap<Socket, Exchange[]>();
	const begin = ({ request, response }: Exchange, line: Exchange[]) => {
		response.once("close", () => {
			const next = line.shift();
			if (next) setImmediate(() => begin(next, line));
			else lines.delete(request.socket);
		});
		handle(request, response);
	};
	return (request, response) => {
		const { socket } = request;
		// What a packet still holds is handed over although its connection is gone.
		if (socket.destroyed) return;
		const line = lines.get(socket);
		if (line === undefined) {
			const own: Exchange[] = [];
			lines.set(socket, own);
			begin({ request, response }, own);
		} else if (line.length < MOST_WAITING) line.push({ request, response });
		else {
			onCut();
			socket.destroy();
		}
	};
}
