import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { backupRequest, rotateSecretRequest } from "../../contract/keys.ts";
import * as replies from "../../contract/replies/admin.ts";
import { onBackup, onKeyring } from "../audit.ts";
import { tenantOf } from "../auth.ts";
import { ifUndelivered } from "../pending-call.ts";
import type { ServerContext } from "../server-context.ts";
import { inArea, orEmpty, type Route } from "./route.ts";

export function adminRoutes(context: ServerContext): Route[] {
	return inArea("administration", [
		{
			name: "GET /v1/admin/scanners",
			summary: "The engine's background duties, one row each",
			replies: { 200: replies.scannersReply },
			handle: ({ principal }) => principal.backend.admin.scanners(),
		},
		{
			name: "POST /v1/admin/backup",
			summary: "Everything in the store as lines of JSON, while work goes on",
			body: backupRequest.schema,
			bodyOptional: true,
			replies: { 200: "text" },
			audit: onBackup,
			handle: (request, reply) => backup(context, request, reply),
		},
		{
			name: "POST /v1/admin/rotate-waitpoint-secret",
			summary: "Make another key sign waitpoint tokens; tokens of the previous key stay valid for its grace period",
			body: rotateSecretRequest.schema,
			bodyOptional: true,
			replies: { 200: replies.rotatedSecret },
			audit: onKeyring,
			handle: ({ principal, body }) => principal.backend.admin.rotateWaitpointSecret(orEmpty(body)),
		},
	]);
}

/** Sent as it is read, as fast as the reader takes it. Cut off, it lacks its last line, which says how much there was. */
async function backup(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
	const lines = request.principal.backend.admin.backup(orEmpty(request.body))[Symbol.asyncIterator]();
	const place = context.pools.backups.take(tenantOf(request));
	try {
		// Whatever is wrong shows with the first line, while there is still a status to refuse with.
		const first = await lines.next();
		const text = Readable.from(endedLines(first, lines), { objectMode: false });
		text.once("close", () => place.give());
		// Its reader has to begin again; only one of several backups of a tenant is ended so. Before the first line the store is
		// still being read, which cannot be called off and has its own bound.
		place.makeRoom = () => void reply.raw.destroy();
		// Nobody begins to read a text that comes too late, so that it does not end by itself.
		ifUndelivered(reply, () => {
			place.give();
			lines.return?.().catch((error) => context.log.error({ err: error }, "what a backup was made of is left behind"));
		});
		return reply.type("application/x-ndjson; charset=utf-8").send(text);
	} catch (error) {
		place.give();
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
