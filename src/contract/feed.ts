import { integer, namespace, text } from "./fields.ts";
import { type Static, Type } from "./schema.ts";
import { shape } from "./validate.ts";

/** Requests for the events of a namespace. */

const MAX_FEED_WAIT_MS = 30_000;

export const feedRequest = shape(
	Type.Object(
		{
			namespace: Type.Optional(namespace),
			cursor: Type.Optional(text(1, 8192, 'The nextCursor of the previous page, "start" (the default) or "end"')),
			limit: Type.Optional(integer(1, 1000, "Maximum events per page (100)")),
			waitMs: Type.Optional(integer(0, MAX_FEED_WAIT_MS, "How long to wait for an event if there is none (0)")),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** Which events of a namespace to read. */
export type FeedRequest = Static<typeof feedRequest.schema>;
