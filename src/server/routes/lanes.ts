import Type from "typebox";
import { lanesRequest } from "../../contract/lanes.ts";
import * as replies from "../../contract/reply-shapes.ts";
import { readQuery } from "../query.ts";
import { inArea, type Route } from "./route.ts";

export function laneRoutes(): Route[] {
	return inArea("lanes", [
		{
			name: "GET /v1/lanes",
			summary: "Depth, age and throughput of every lane in which there is something",
			query: lanesRequest,
			replies: { 200: Type.Object({ lanes: Type.Array(replies.lane) }) },
			handle: ({ caller, query }) => caller.backend.lanes.list(readQuery(query, lanesRequest)),
		},
	]);
}
