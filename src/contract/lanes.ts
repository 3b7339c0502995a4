import { lane, namespace, page } from "./fields.ts";
import { type Static, Type } from "./schema.ts";
import { shape } from "./validate.ts";

/** Requests about lanes. */

const strict = { additionalProperties: false, allowed: "must be an object" };

export const lanesRequest = shape(Type.Object({ namespace: Type.Optional(namespace) }, strict));

/** Whose lane is meant. */
export type LanesRequest = Static<typeof lanesRequest.schema>;

export const lanesPageRequest = shape(Type.Object({ namespace: Type.Optional(namespace), ...page }, strict));

/** Which page of lanes to read. */
export type LanesPageRequest = Static<typeof lanesPageRequest.schema>;

export const laneShape = shape(Type.Object({ lane }, strict));

export const MAX_AGING_MS = 1e12;

export const laneSettings = shape(
	Type.Object(
		{
			agingMs: Type.Integer({
				minimum: 0,
				maximum: MAX_AGING_MS,
				description: "How much waiting one step of priority is worth, for work submitted from now on",
				allowed: `must be an integer number of milliseconds from 0 (age alone counts) to ${MAX_AGING_MS} (priority first)`,
			}),
		},
		strict,
	),
);

/** What can be set of a lane. */
export type LaneSettings = Static<typeof laneSettings.schema>;
