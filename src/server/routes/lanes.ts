import Type from "typebox";
import { lanesRequest } from "../../contract/lanes.ts";
import * as replies from "../../contract/reply-shapes.ts";
import { readQuery } from "../query.ts";
import { inArea, type Route } from "./route.ts";

export function laneRoutes(): Route[] {
	return inArea("lanes, admin", [
		{
			name: "GET /v1/lanes",
			summary: "The lanes of a namespace and what is in them",
			query: lanesRequest,
			replies: { 200: Type.Object({ lanes: Type.Array(replies.lane) }) },
			handle: (request) => request.caller.backend.lanes.list(readQuery(request.query, lanesRequest)),
		},
	]);
}
