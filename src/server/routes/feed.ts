import { FlowFabricError } from "../../contract/errors.ts";
import { feedRequest } from "../../contract/feed.ts";
import * as replies from "../../contract/reply-shapes.ts";
import type { Frame } from "../frame.ts";
import { Presence } from "../presence.ts";
import { readQuery } from "../query.ts";
import { inArea, type Route } from "./route.ts";

export function feedRoutes(frame: Frame): Route[] {
	return inArea("lanes, admin", [
		{
			name: "GET /v1/events",
			summary: "What happened in a namespace since a cursor; with waitMs, as soon as something has",
			query: feedRequest,
			replies: { 200: replies.eventPage },
			async handle(request, reply) {
				const query = readQuery(request.query, feedRequest);
				const { feed } = request.caller.backend;
				if (!query.waitMs) return feed.read(query);
				frame.pools.waits.take();
				const presence = new Presence(reply, frame.waiting);
				try {
					return await feed.read(query, presence.signal);
				} catch (error) {
					throw presence.ending ? new FlowFabricError("shutting_down") : error;
				} finally {
					presence.leave();
					frame.pools.waits.give();
				}
			},
		},
	]);
}
