import { guardRequest, guardsPageRequest } from "../../contract/guards.ts";
import * as shapes from "../../contract/quotas.ts";
import * as replies from "../../contract/replies/quotas.ts";
import { Type } from "../../contract/schema.ts";
import { onGuard, onNewGuard } from "../audit.ts";
import { readQuery } from "../query.ts";
import { idOf, inArea, type Route } from "./route.ts";

export function quotaRoutes(): Route[] {
	return inArea("quotas", [
		{
			name: "POST /v1/quotas",
			summary: "Create a quota; 200 instead of 201 when it already exists with this definition",
			body: shapes.createQuotaRequest.schema,
			replies: { 200: replies.createdQuota, 201: replies.createdQuota },
			audit: onNewGuard("quota-create"),
			async handle({ principal, body }, reply) {
				const made = await principal.backend.quotas.create(body as never);
				reply.code(made.created ? 201 : 200);
				return made;
			},
		},
		{
			name: "GET /v1/quotas",
			summary: "List quotas in the order they were created, without their holders",
			query: guardsPageRequest,
			replies: { 200: replies.quotaPage },
			handle: ({ principal, query }) => principal.backend.quotas.list(readQuery(query, guardsPageRequest)),
		},
		{
			name: "GET /v1/quotas/:id",
			summary: "A quota: its current use, who holds its slots, and how many executions wait for it",
			query: guardRequest,
			replies: { 200: replies.quota },
			handle: (request) => request.principal.backend.quotas.get(idOf(request), readQuery(request.query, guardRequest)),
		},
		{
			name: "PATCH /v1/quotas/:id",
			summary: "Change a quota, at once; null removes rate or concurrency, but one of them must stay",
			query: guardRequest,
			body: shapes.patchQuotaRequest.schema,
			replies: { 200: replies.quota },
			audit: onGuard("quota-patch"),
			handle: (request) =>
				request.principal.backend.quotas.patch(
					idOf(request),
					request.body as never,
					readQuery(request.query, guardRequest),
				),
		},
		{
			name: "DELETE /v1/quotas/:id",
			summary: "Delete a quota; executions that waited for it are released",
			query: guardRequest,
			replies: { 200: Type.Object({ deleted: Type.Literal(true) }) },
			audit: onGuard("quota-delete"),
			handle: (request) =>
				request.principal.backend.quotas.delete(idOf(request), readQuery(request.query, guardRequest)),
		},
	]);
}
