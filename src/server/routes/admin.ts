import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { backupRequest, rotateSecretRequest } from "../../contract/keys.ts";
import * as replies from "../../contract/replies/admin.ts";
import { onBackup, onKeyring } from "../audit.ts";
import type { ServerContext } from "../server-context.ts";
import { inArea, orEmpty, type Route } from "./route.ts";

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
			body: backupRequest.schema,
			bodyOptional: true,
			replies: { 200: "text" },
			audit: onBackup,
			handle: (request, reply) => backup(context, request, reply),
		},
		{
			name: "POST /v1/admin/rotate-waitpoint-secret",
			summary: "Let another key sign the tokens of waitpoints; those the former signed are taken for its grace",
			body: rotateSecretRequest.schema,
			bodyOptional: true,
			replies: { 200: replies.rotatedSecret },
			audit: onKeyring,
			handle: ({ principal, body }) => principal.backend.admin.rotateWaitpointSecret(orEmpty(body)),
		},
	]);
}

/** Sent as it is read, as fast as the reader takes it. Cut off, it lacks its last line, which says how much there was. */
async function backup(
	context: ServerContext,
	{ principal, body }: FastifyRequest,
	reply: FastifyReply,
): Promise<FastifyReply> {
	const lines = principal.backend.admin.backup(orEmpty(body))[Symbol.asyncIterator]();
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
