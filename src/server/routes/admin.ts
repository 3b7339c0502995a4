import { Readable } from "node:stream";
import Type from "typebox";
import * as replies from "../../contract/reply-shapes.ts";
import { inArea, type Route } from "./route.ts";

export function adminRoutes(): Route[] {
	return inArea("lanes, admin", [
		{
			name: "GET /v1/admin/scanners",
			summary: "What the engine minds on its own, duty by duty",
			replies: { 200: Type.Object({ scanners: Type.Array(replies.scanner) }) },
			handle: (request) => request.caller.backend.admin.scanners(),
		},
		{
			name: "POST /v1/admin/backup",
			summary: "All the store holds as lines of JSON, while work goes on",
			bodyOptional: true,
			replies: { 200: "text" },
			audit: "backup",
			handle(request, reply) {
				const lines = request.caller.backend.admin.backup();
				reply.type("application/x-ndjson");
				return reply.send(Readable.from(withLineEnds(lines)));
			},
		},
	]);
}

async function* withLineEnds(lines: AsyncIterable<string>): AsyncGenerator<string> {
	for await (const line of lines) yield `${line}\n`;
}
