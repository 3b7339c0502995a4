import * as replies from "../../contract/replies/workers.ts";
import { Type } from "../../contract/schema.ts";
import { registerWorkerRequest, workersPageRequest, workersRequest } from "../../contract/workers.ts";
import { onWorker } from "../audit.ts";
import { refuseBorrowedName } from "../auth.ts";
import { BODY_LIMIT } from "../bodies.ts";
import { readQuery } from "../query.ts";
import { inArea, instanceOf, type Route } from "./route.ts";

export function workerRoutes(): Route[] {
	return inArea("worker protocol", [
		{
			name: "PUT /v1/workers/:instanceId",
			summary: "Register a worker instance, or send its heartbeat; without another it is removed after its ttl",
			body: registerWorkerRequest.schema,
			bodyLimit: BODY_LIMIT,
			replies: { 200: replies.worker },
			handle(request) {
				refuseBorrowedName(request, instanceOf(request));
				return request.principal.backend.workers.register(instanceOf(request), request.body as never);
			},
		},
		{
			name: "DELETE /v1/workers/:instanceId",
			summary: "Remove an instance from the registry",
			query: workersRequest,
			replies: { 200: Type.Object({ removed: Type.Boolean() }) },
			audit: onWorker("worker-remove"),
			handle: (request) =>
				request.principal.backend.workers.remove(instanceOf(request), readQuery(request.query, workersRequest)),
		},
		{
			name: "GET /v1/workers",
			summary: "Registered instances with a heartbeat within their ttl, in the order they registered",
			query: workersPageRequest,
			replies: { 200: replies.workerPage },
			handle: ({ principal, query }) => principal.backend.workers.list(readQuery(query, workersPageRequest)),
		},
	]);
}
