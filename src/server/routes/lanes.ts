import type { FastifyRequest } from "fastify";
import { laneSettings, lanesPageRequest, lanesRequest } from "../../contract/lanes.ts";
import * as replies from "../../contract/replies/lanes.ts";
import { onLane } from "../audit.ts";
import { readQuery } from "../query.ts";
import { emptyBody, inArea, type Route } from "./route.ts";

const laneOf = ({ params }: FastifyRequest): string => (params as { lane: string }).lane;

export function laneRoutes(): Route[] {
	return inArea("lanes", [
		{
			name: "GET /v1/lanes",
			summary: "State, depth, age and throughput of lanes that hold work or were changed, by name",
			query: lanesPageRequest,
			replies: { 200: replies.lanePage },
			handle: ({ principal, query }) => principal.backend.lanes.list(readQuery(query, lanesPageRequest)),
		},
		{
			name: "PATCH /v1/lanes/:lane",
			summary: "Change a lane's settings",
			query: lanesRequest,
			body: laneSettings.schema,
			replies: { 200: replies.laneStatus },
			audit: onLane("lane-settings"),
			handle: (request) =>
				request.principal.backend.lanes.update(
					laneOf(request),
					request.body as never,
					readQuery(request.query, lanesRequest),
				),
		},
		change("pause", "Hand out nothing any more; answered when that holds in every partition"),
		change("resume", "Open a lane that was paused or draining"),
		change("drain", "Take no new work, which is refused with lane_draining; what is queued is still handed out"),
	]);
}

function change(how: "pause" | "resume" | "drain", summary: string): Omit<Route, "area"> {
	return {
		name: `POST /v1/lanes/:lane/${how}`,
		summary,
		query: lanesRequest,
		body: emptyBody.schema,
		bodyOptional: true,
		replies: { 200: replies.laneStatus },
		audit: onLane(`lane-${how}`),
		handle(request) {
			emptyBody.check(request.body === undefined ? {} : request.body);
			return request.principal.backend.lanes[how](laneOf(request), readQuery(request.query, lanesRequest));
		},
	};
}
