import * as replies from "../../contract/replies/workers.ts";
import { Type } from "../../contract/schema.ts";
import { registerWorkerRequest, workersPageRequest, workersRequest } from "../../contract/workers.ts";
import { onWorker } from "../audit.ts";
import { BODY_LIMIT } from "../bodies.ts";
import { readQuery } from "../query.ts";
import { inArea, instanceOf, type Route } from "./route.ts";

export function workerRoutes(): Route[] {
	return inArea("worker protocol", [
		{
			name: "PUT /v1/workers/:instanceId",
			summary: "Register an instance, or say that it is still there; not heard again it is gone after its ttl",
			body: registerWorkerRequest.schema,
			bodyLimit: BODY_LIMIT,
			replies: { 200: replies.worker },
			handle: (request) => request.principal.backend.workers.register(instanceOf(request), request.body as never),
		},
		{
			name: "DELETE /v1/workers/:instanceId",
			summary: "Take an instance out of the registry",
			query: workersRequest,
			replies: { 200: Type.Object({ removed: Type.Boolean() }) },
			audit: onWorker("worker-remove"),
			handle: (request) =>
				request.principal.backend.workers.remove(instanceOf(request), readQuery(request.query, workersRequest)),
		},
		{
			name: "GET /v1/workers",
			summary: "Instances registered and heard within their ttl, in the order they came, a page at a time",
			query: workersPageRequest,
			replies: { 200: replies.workerPage },
			handle: ({ principal, query }) => principal.backend.workers.list(readQuery(query, workersPageRequest)),
		},
	]);
}
