import type { FastifyReply } from "fastify";
import { inPieces } from "./answer-pieces.ts";

/** Items read and written at a time: a reader that is slow, or stuck, holds no more of a list than these. */
const AT_A_TIME = 50;

interface Page<T> {
	items: readonly T[];
	nextCursor?: string | undefined;
}

interface Wanted {
	/** What the list is called in the answer. */
	name: string;
	limit: number;
	cursor?: string | undefined;
	/** The answer ends behind so many characters, with a cursor (no limit). */
	mostChars?: number;
}

type ReadPage<T> = (limit: number, cursor: string | undefined) => Promise<Page<T>>;

/** Answers with a page of a list, written as it is read and as fast as its reader takes it. */
export async function sendList<T>(reply: FastifyReply, wanted: Wanted, read: ReadPage<T>): Promise<FastifyReply> {
	// Whatever is wrong shows with the first items, while there is still a status to refuse with.
	const first = await read(Math.min(AT_A_TIME, wanted.limit), wanted.cursor);
	return reply.type("application/json; charset=utf-8").send(inPieces(reply, texts(first, wanted, read)));
}

async function* texts<T>(
	first: Page<T>,
	{ name, limit, mostChars }: Wanted,
	read: ReadPage<T>,
): AsyncGenerator<string> {
	let count = 0;
	let chars = 0;
	let page = first;
	let text = `{${JSON.stringify(name)}:[`;
	for (;;) {
		for (const item of page.items) text += `${count++ === 0 ? "" : ","}${JSON.stringify(item)}`;
		const { nextCursor } = page;
		// Fewer than could have been: they are far apart, and to look on is another call's.
		const isShort = page.items.length < Math.min(AT_A_TIME, limit - count + page.items.length);
		chars += text.length;
		const isFull = count >= limit || (mostChars !== undefined && chars >= mostChars);
		if (nextCursor === undefined || isFull || isShort) {
			yield `${text}]${nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(nextCursor)}`}}`;
			return;
		}
		yield text;
		text = "";
		page = await read(Math.min(AT_A_TIME, limit - count), nextCursor);
	}
}
