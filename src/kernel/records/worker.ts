import { slotOf } from "../ids.ts";
import { list, type Shapes, text } from "../shape.ts";
import { type Key, makeRecord } from "./record.ts";

/** A worker instance that has said it is there. All of a namespace share the namespace's slot: a registry is one read. */
export interface WorkerRecord {
	namespace: string;
	instanceId: string;
	workerId: string;
	/** Sorted, each once. */
	capabilities: readonly string[];
	/** Null for a worker that takes every kind. */
	kinds: readonly string[] | null;
	lanes: readonly string[];
	ttlMs: number;
	registeredAt: number;
	lastSeenAt: number;
}

export const workerDefaults: WorkerRecord = {
	namespace: "default",
	instanceId: "",
	workerId: "",
	capabilities: [],
	kinds: null,
	lanes: [],
	ttlMs: 30_000,
	registeredAt: 0,
	lastSeenAt: 0,
};

export const workerShapes: Shapes<WorkerRecord> = { capabilities: list(text), kinds: list(text), lanes: list(text) };

export const WORKER_PREFIX = "worker:";

/** A namespace holds no colon, so it ends at the first one. */
export const workerKey = (namespace: string, instanceId: string): Key<WorkerRecord> =>
	`${WORKER_PREFIX}${namespace}:${instanceId}`;

export const slotOfWorkers = (namespace: string): number => slotOf(namespace);

export const workerExpiresAt = ({ lastSeenAt, ttlMs }: Pick<WorkerRecord, "lastSeenAt" | "ttlMs">): number =>
	lastSeenAt + ttlMs;

export const makeWorker = (fields: Partial<WorkerRecord>): WorkerRecord => makeRecord(workerDefaults, fields);
