import { type Static, Type } from "../schema.ts";
import { at, nextCursor, text, texts } from "./parts.ts";

export const worker = Type.Object({
	instanceId: text("Name of this very process"),
	workerId: text("Name of this kind of worker"),
	namespace: text("The tenant it works for"),
	capabilities: texts("What it offers"),
	kinds: Type.Optional(texts("Kinds it has handlers for; left out for a worker that takes any kind")),
	lanes: texts("Lanes it takes work from"),
	registeredAt: at("When it came"),
	lastSeenAt: at("When it was last heard of"),
	expiresAt: at("When it counts as gone unless it is heard of again"),
});

/** A worker instance that is there; `kinds` is left out for one that takes any. */
export interface WorkerView extends Static<typeof worker> {}

export const workerPage = Type.Object({
	workers: Type.Array(worker, { description: "In the order they came" }),
	nextCursor,
});

/** A page of the workers that are there; `nextCursor` leads to the next and is left out on the last. */
export interface WorkerPage extends Static<typeof workerPage> {}
