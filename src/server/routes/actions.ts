import { bulkRequest } from "../../contract/bulk.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import * as shapes from "../../contract/executions.ts";
import { bulk } from "../../contract/replies/executions.ts";
import { publicState } from "../../contract/replies/parts.ts";
import { Type } from "../../contract/schema.ts";
import { setTagsRequest } from "../../contract/tags.ts";
import { onExecution, onMany } from "../audit.ts";
import { BODY_LIMIT } from "../bodies.ts";
import { idOf, inArea, orEmpty, type Route } from "./route.ts";

/** What people do to executions; each leaves a line in the log. */
export function actionRoutes(): Route[] {
	return inArea("executions", [
		{
			name: "POST /v1/executions/:id/cancel",
			summary: "Cancel; running work is asked to stop first unless mode is force",
			body: shapes.cancelRequest.schema,
			bodyOptional: true,
			replies: {
				200: Type.Object({
					publicState,
					cancelRequested: Type.Optional(Type.Literal(true)),
				}),
			},
			audit: onExecution("cancel"),
			handle(request) {
				const { principal, body } = request;
				const isFenced = (body as { fence?: unknown } | undefined)?.fence !== undefined;
				// A worker cancels what it holds, and shows so with its fence. Whoever else has read one holds nothing.
				if (principal.role !== "admin" && isFenced !== (principal.role === "worker")) {
					const how = isFenced ? "only workers cancel with a fence" : "it cancels with its fence";
					throw new FlowFabricError("forbidden", { message: `${principal.name} is a ${principal.role}: ${how}` });
				}
				return principal.backend.executions.cancel(idOf(request), orEmpty(body));
			},
		},
		{
			name: "POST /v1/executions/:id/replay",
			summary: "Run ended work again",
			body: shapes.replayRequest.schema,
			bodyOptional: true,
			replies: { 200: Type.Object({ publicState, replays: Type.Integer() }) },
			audit: onExecution("replay"),
			handle: (request) => request.principal.backend.executions.replay(idOf(request), orEmpty(request.body)),
		},
		{
			name: "POST /v1/executions/:id/revoke-lease",
			summary: "Take the lease away now; the work goes back to its queue",
			body: shapes.revokeLeaseRequest.schema,
			bodyOptional: true,
			replies: {
				200: Type.Union([
					Type.Object({ revoked: Type.Literal(true), leaseId: Type.String(), epoch: Type.Integer() }),
					Type.Object({ revoked: Type.Literal(false), reason: Type.Literal("no_active_lease") }),
				]),
			},
			audit: onExecution("revoke-lease"),
			handle: (request) => request.principal.backend.executions.revokeLease(idOf(request), orEmpty(request.body)),
		},
		{
			name: "DELETE /v1/executions/:id",
			summary: "Remove every trace of ended work",
			replies: { 200: Type.Object({ deleted: Type.Literal(true) }) },
			audit: onExecution("delete"),
			handle: (request) => request.principal.backend.executions.delete(idOf(request)),
		},
		{
			name: "POST /v1/executions/:id/priority",
			summary: "Change the priority of work that has not ended",
			body: shapes.changePriorityRequest.schema,
			replies: { 200: Type.Object({ publicState, priority: Type.Integer() }) },
			audit: onExecution("priority"),
			handle: (request) => request.principal.backend.executions.changePriority(idOf(request), request.body as never),
		},
		{
			name: "POST /v1/executions/:id/tags",
			summary: "Set and remove tags",
			body: setTagsRequest.schema,
			// Large enough that too many tags are refused for what they are.
			bodyLimit: BODY_LIMIT,
			replies: { 200: Type.Object({ tags: Type.Record(Type.String()) }) },
			audit: onExecution("tags"),
			handle: (request) => request.principal.backend.executions.setTags(idOf(request), request.body as never),
		},
		{
			name: "POST /v1/executions/bulk",
			summary: "Apply an action to every execution that a filter finds, at most 1000 per call",
			body: bulkRequest.schema,
			replies: { 200: bulk },
			audit: onMany,
			handle: ({ principal, body }) => principal.backend.executions.bulk(body as never),
		},
	]);
}
