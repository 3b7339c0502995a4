import Type, { type Static } from "typebox";
import { namespace } from "./fields.ts";
import { shape } from "./validate.ts";

/** Requests about lanes. */

export const lanesRequest = shape(
	Type.Object({ namespace: Type.Optional(namespace) }, { additionalProperties: false, allowed: "must be an object" }),
);
export type LanesRequest = Static<typeof lanesRequest.schema>;
