import type { Outcome } from "../outcome.ts";
import { amend } from "../records/record.ts";
import { makeWorker, type WorkerRecord, workerExpiresAt, workerKey } from "../records/worker.ts";
import type { Tx } from "../tx.ts";

/** A worker instance says that it is there, or still is, and what it offers. */
export interface RegisterWorkerCommand {
	op: "registerWorker";
	namespace: string;
	instanceId: string;
	workerId: string;
	capabilities: readonly string[];
	kinds: readonly string[] | null;
	lanes: readonly string[];
	ttlMs: number;
}

export type RegisterWorkerOutcome = Outcome<{ worker: WorkerRecord }>;

/** Saying it again refreshes; an instance that had lapsed begins anew, even if its tick is still to come. */
export function registerWorker(tx: Tx, command: RegisterWorkerCommand, now: number): RegisterWorkerOutcome {
	const { op: _, ...offer } = command;
	const key = workerKey(offer.namespace, offer.instanceId);
	const known = tx.get(key);
	const registeredAt = known && workerExpiresAt(known) > now ? known.registeredAt : now;
	const fields = { ...offer, registeredAt, lastSeenAt: now };
	const worker = known ? amend(known, fields) : makeWorker(fields);
	tx.put(key, worker);
	return { ok: true, worker };
}

export interface RemoveWorkerCommand {
	op: "removeWorker";
	namespace: string;
	instanceId: string;
}

export type RemoveWorkerOutcome = Outcome<{ removed: boolean }>;

export function removeWorker(tx: Tx, command: RemoveWorkerCommand): RemoveWorkerOutcome {
	const key = workerKey(command.namespace, command.instanceId);
	if (!tx.get(key)) return { ok: true, removed: false };
	tx.remove(key);
	return { ok: true, removed: true };
}
