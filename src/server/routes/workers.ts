import type { FastifyRequest } from "fastify";
import Type from "typebox";
import * as replies from "../../contract/reply-shapes.ts";
import { registerWorkerRequest, workersRequest } from "../../contract/workers.ts";
import { readQuery } from "../query.ts";
import { inArea, type Route } from "./route.ts";

/** The registry of workers. */
export function workerRoutes(): Route[] {
	return inArea("worker protocol", [
		{
			name: "PUT /v1/workers/:instanceId",
			summary: "Register a worker instance, or say that it is still there",
			body: registerWorkerRequest.schema,
			replies: { 200: replies.worker },
			handle: (request) => request.caller.backend.workers.register(instanceOf(request), request.body as never),
		},
		{
			name: "DELETE /v1/workers/:instanceId",
			summary: "Take a worker instance out of the registry",
			query: workersRequest,
			replies: { 200: Type.Object({ removed: Type.Boolean() }) },
			handle: (request) =>
				request.caller.backend.workers.remove(instanceOf(request), readQuery(request.query, workersRequest)),
		},
		{
			name: "GET /v1/workers",
			summary: "The worker instances there are",
			query: workersRequest,
			replies: { 200: Type.Object({ workers: Type.Array(replies.worker) }) },
			handle: (request) => request.caller.backend.workers.list(readQuery(request.query, workersRequest)),
		},
	]);
}

const instanceOf = (request: FastifyRequest): string => (request.params as { instanceId: string }).instanceId;
