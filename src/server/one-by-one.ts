import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests that may wait on a connection behind the one that is being answered. */
const MOST_WAITING = 64;

interface Exchange {
	request: IncomingMessage;
	response: ServerResponse;
}

/** What is being answered on a connection, and what waits behind it. */
interface Line {
	current: Exchange;
	waiting: Exchange[];
}

const lines = new WeakMap<Socket, Line>();

/** The request that is being answered on a connection; undefined while none has arrived with its whole head. */
export const requestOn = (socket: Socket): IncomingMessage | undefined => lines.get(socket)?.current.request;

/**
 * Begins the requests of a connection one after another, as they are answered anyway. Node hands over at once whatever a
 * connection has sent ahead: a thousand requests in one packet would keep the event loop until each of them was begun, and
 * fill every pool. Here others get their turn in between, and whoever sends too far ahead is cut off.
 */
export function oneByOne(handle: RequestListener, onCut: () => void): RequestListener {
	const begin = (line: Line) => {
		const { request, response } = line.current;
		response.once("close", () => {
			const next = line.waiting.shift();
			if (next) {
				line.current = next;
				setImmediate(goOn, line);
			} else lines.delete(request.socket);
		});
		handle(request, response);
	};
	// The answer to a request whose connection is gone would never close, and what it holds would never be given back.
	const goOn = (line: Line) => {
		const { socket } = line.current.request;
		if (socket.destroyed) lines.delete(socket);
		else begin(line);
	};
	return (request, response) => {
		const { socket } = request;
		// What a packet still holds is handed over although its connection is gone.
		if (socket.destroyed) return;
		const line = lines.get(socket);
		if (line === undefined) {
			const own: Line = { current: { request, response }, waiting: [] };
			lines.set(socket, own);
			begin(own);
		} else if (line.waiting.length < MOST_WAITING) line.waiting.push({ request, response });
		else {
			onCut();
			socket.destroy();
		}
	};
}
