import Type, { type Static } from "typebox";
import { at } from "./parts.ts";

export const worker = Type.Object({
	instanceId: Type.String(),
	workerId: Type.String(),
	namespace: Type.String(),
	capabilities: Type.Array(Type.String()),
	kinds: Type.Optional(Type.Array(Type.String(), { description: "Left out for a worker that takes any kind" })),
	lanes: Type.Array(Type.String()),
	registeredAt: at,
	lastSeenAt: at,
	expiresAt: at,
});

/** A worker instance that is there; `kinds` is left out for one that takes any. */
export interface WorkerView extends Static<typeof worker> {}
