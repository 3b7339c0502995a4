import { offersAll } from "../matching.ts";
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

/** `hasArrived` when it offers something it did not offer before: work may have waited for that. */
export type RegisterWorkerOutcome = Outcome<{ worker: WorkerRecord; hasArrived: boolean }>;

/** Saying it again refreshes; an instance that had lapsed begins anew, even if its tick is still to come. */
export function registerWorker(tx: Tx, command: RegisterWorkerCommand, now: number): RegisterWorkerOutcome {
	const { op: _, ...offer } = command;
	const key = workerKey(offer.namespace, offer.instanceId);
	const known = tx.get(key);
	const registeredAt = known && workerExpiresAt(known) > now ? known.registeredAt : now;
	const fields = { ...offer, registeredAt, lastSeenAt: now };
	const worker = known ? amend(known, fields) : makeWorker(fields);
	tx.put(key, worker);
	const before = known && workerExpiresAt(known) > now ? known.capabilities : [];
	return { ok: true, worker, hasArrived: !offersAll(before, offer.capabilities) };
}

/** A sign of life that came with a claim, and what the claim offered. */
export interface Beat {
	instanceId: string;
	workerId: string;
	capabilities: readonly string[];
	kinds: readonly string[] | null;
	lanes: readonly string[];
}

/** Signs of life of one namespace's workers, many in one command. */
export interface BeatCommand {
	op: "beat";
	namespace: string;
	beats: readonly Beat[];
	/** Set when the registry takes nobody who is not in it. */
	isFull?: boolean;
}

/** In the order of the beats; a ttl of 0 means that the registry does not have that worker. */
export type BeatOutcome = Outcome<{ seen: { ttlMs: number; hasArrived: boolean }[] }>;

/**
 * Refreshes those that are registered; whoever claims with more than it registered offers more. Others are entered if
 * they offer something, since somebody may wait for just that, and there is room.
 */
export function beat(tx: Tx, { namespace, beats, isFull = false }: BeatCommand, now: number): BeatOutcome {
	tx.expect(beats.map(({ instanceId }) => workerKey(namespace, instanceId)));
	const seen = beats.map((offer) => {
		const key = workerKey(namespace, offer.instanceId);
		const known = tx.get(key);
		if (known && workerExpiresAt(known) > now) {
			const hasArrived = !offersAll(known.capabilities, offer.capabilities);
			const capabilities = hasArrived
				? [...new Set([...known.capabilities, ...offer.capabilities])].sort()
				: known.capabilities;
			tx.put(key, amend(known, { lastSeenAt: now, capabilities }));
			return { ttlMs: known.ttlMs, hasArrived };
		}
		if (offer.capabilities.length === 0 || isFull) return { ttlMs: 0, hasArrived: false };
		const worker = makeWorker({ namespace, ...offer, registeredAt: now, lastSeenAt: now });
		tx.put(key, worker);
		return { ttlMs: worker.ttlMs, hasArrived: true };
	});
	return { ok: true, seen };
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
