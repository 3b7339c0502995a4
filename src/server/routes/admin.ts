import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import * as replies from "../../contract/replies/admin.ts";
import { onStore } from "../audit.ts";
import type { ServerContext } from "../server-context.ts";
import { inArea, type Route } from "./route.ts";

export function adminRoutes(context: ServerContext): Route[] {
	return inArea("administration", [
		{
			name: "GET /v1/admin/scanners",
			summary: "What the engine does on its own, duty by duty",
			replies: { 200: replies.scannersReply },
			handle: ({ principal }) => principal.backend.admin.scanners(),
		},
		{
			name: "POST /v1/admin/backup",
			summary: "All the store holds as lines of JSON, while work goes on",
			replies: { 200: "text" },
			audit: onStore("backup"),
			handle: (request, reply) => backup(context, request, reply),
		},
	]);
}

/** Sent as it is read, as fast as the reader takes it. Cut off, it lacks its last line, which says how much there was. */
async function backup(
	context: ServerContext,
	{ principal }: FastifyRequest,
	reply: FastifyReply,
): Promise<FastifyReply> {
	const lines = principal.backend.admin.backup()[Symbol.asyncIterator]();
	const pool = context.pools.backups;
	pool.take();
	try {
		// Whatever is wrong shows with the first line, while there is still a status to refuse with.
		const first = await lines.next();
		const text = Readable.from(endedLines(first, lines), { objectMode: false });
		text.once("close", () => pool.give());
		return reply.type("application/x-ndjson; charset=utf-8").send(text);
	} catch (error) {
		pool.give();
		throw error;
	}
}

async function* endedLines(first: IteratorResult<string>, rest: AsyncIterator<string>): AsyncGenerator<string> {
	try {
		for (let next = first; !next.done; next = await rest.next()) yield `${next.value}\n`;
	} finally {
		await rest.return?.();
	}
}
