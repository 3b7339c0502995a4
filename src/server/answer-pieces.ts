import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";

/** Bytes of an answer that are written together. What is written at once shows as taken only when all of it is. */
export const PIECE = 64 * 1024;

/** Bytes of answers that wait here until their readers take what was written before, by connection. */
const waiting = new WeakMap<Socket, number>();

/** What a connection holds of our memory. */
export const unsentTo = (socket: Socket): number => socket.writableLength + (waiting.get(socket) ?? 0);

/** An answer in pieces, as fast as its reader takes them: a slow reader is seen to read, one that is stuck is not. */
export function inPieces(reply: FastifyReply, texts: Iterable<Text> | AsyncIterable<Text>): Readable {
	return Readable.from(piecesOf(reply.raw.socket, texts), { objectMode: false, highWaterMark: PIECE });
}

type Text = string | Buffer;

async function* piecesOf(socket: Socket | null, texts: Iterable<Text> | AsyncIterable<Text>): AsyncGenerator<Buffer> {
	const wait = (bytes: number) => void (socket && waiting.set(socket, bytes));
	try {
		for await (const text of texts) {
			const bytes = typeof text === "string" ? Buffer.from(text) : text;
			for (let at = 0; at < bytes.length; at += PIECE) {
				wait(bytes.length - at);
				yield bytes.subarray(at, at + PIECE);
			}
			wait(0);
		}
	} finally {
		wait(0);
	}
}

/** Sends large answers in pieces, whoever gives them. */
export function sendInPieces(
	_request: unknown,
	reply: FastifyReply,
	payload: unknown,
	done: (error: null, payload?: unknown) => void,
): void {
	const isLarge = (typeof payload === "string" || Buffer.isBuffer(payload)) && payload.length > PIECE;
	if (!isLarge) return done(null, payload);
	const bytes = typeof payload === "string" ? Buffer.from(payload) : payload;
	reply.header("content-length", bytes.length);
	done(null, inPieces(reply, [bytes]));
}
