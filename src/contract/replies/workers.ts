import { type Static, Type } from "../schema.ts";
import { at, nextCursor } from "./parts.ts";

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

export const workerPage = Type.Object({ workers: Type.Array(worker), nextCursor });

/** A page of the workers that are there; `nextCursor` leads to the next and is left out on the last. */
export interface WorkerPage extends Static<typeof workerPage> {}
