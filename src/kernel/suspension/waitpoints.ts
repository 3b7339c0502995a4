import { makeId, trustedSlot } from "../ids.ts";
import { type ExecutionRecord, type Parts, partsOf } from "../records/execution.ts";
import { amend } from "../records/record.ts";
import {
	makeWaitpoint,
	type WaitpointRecord,
	waitpointKey,
	waitpointNameDefaults,
	waitpointNameKey,
} from "../records/waitpoint.ts";
import { hasEnded } from "../state.ts";
import type { Tx } from "../tx.ts";

export const WAITPOINT_STATES = ["pending", "active", "closed"] as const;
export type WaitpointState = (typeof WAITPOINT_STATES)[number];

/** Waitpoints an execution may ever have. */
export const MOST_WAITPOINTS = 10_000;

/**
 * A waitpoint is closed when it says so itself, and while its execution has ended: a replay that keeps what there was opens
 * it again. One that has run out of time is closed whether or not somebody has come to write that down.
 */
export function waitpointState(waitpoint: WaitpointRecord, execution: ExecutionRecord, now: number): WaitpointState {
	if (waitpoint.closedAt > 0 || hasEnded(execution)) return "closed";
	if (waitpoint.generation !== partsOf(execution).generation) return "closed";
	if (waitpoint.suspension > 0 && waitpoint.suspension === execution.suspension?.number) return "active";
	return hasExpired(waitpoint, now) ? "closed" : "pending";
}

/** Only what nothing waits at runs out of time. */
export const hasExpired = ({ expiresAt, suspension, closedBy }: WaitpointRecord, now: number): boolean =>
	closedBy === "expiry" || (closedBy === "" && suspension === 0 && expiresAt > 0 && expiresAt <= now);

/** A waitpoint and the id it is known by. */
export interface Waitpoint {
	id: string;
	record: WaitpointRecord;
}

/** The last waitpoint under a key, open or not. */
export function latestWaitpoint(tx: Tx, execution: ExecutionRecord, key: string): Waitpoint | undefined {
	const { generation, waitpoints } = partsOf(execution);
	const name = waitpointNameKey(execution.id, generation, key);
	const id = (waitpoints === 0 ? tx.getFresh(name) : tx.get(name))?.id;
	const record = id === undefined ? undefined : tx.get(waitpointKey(id));
	return id !== undefined && record ? { id, record } : undefined;
}

/** The waitpoint under a key; undefined when there is none that is open. */
export function openWaitpoint(tx: Tx, execution: ExecutionRecord, key: string, now: number): Waitpoint | undefined {
	const latest = latestWaitpoint(tx, execution, key);
	return latest && waitpointState(latest.record, execution, now) !== "closed" ? latest : undefined;
}

/** A new one under its key, which then leads to it. Whoever calls this keeps `parts` with the execution. */
export function addWaitpoint(
	tx: Tx,
	execution: ExecutionRecord,
	parts: Parts,
	uuid: string,
	fields: Pick<WaitpointRecord, "key" | "createdAt"> & Partial<WaitpointRecord>,
): { waitpoint: Waitpoint; parts: Parts } {
	const { id: executionId, namespace } = execution;
	const { generation } = parts;
	const number = parts.waitpoints + 1;
	const id = makeId("wp", uuid, trustedSlot(executionId));
	const record = makeWaitpoint({ executionId, namespace, number, generation, ...fields });
	const name = waitpointNameKey(executionId, generation, fields.key);
	tx.getFresh(waitpointKey(id));
	tx.put(waitpointKey(id), record);
	const known = tx.get(name);
	tx.put(name, known ? amend(known, { id }) : { ...waitpointNameDefaults, id });
	return { waitpoint: { id, record }, parts: { ...parts, waitpoints: number } };
}

/** Closes waitpoints of a suspension that is over; `isOfEnd` for one that ended with its execution, and may go on in a replay. */
export function leaveWaitpoints(tx: Tx, waitpoints: readonly { id: string }[], isOfEnd: boolean, now: number): void {
	tx.expect(waitpoints.map(({ id }) => waitpointKey(id)));
	for (const { id } of waitpoints) {
		const record = tx.get(waitpointKey(id));
		if (!record || record.closedAt > 0) continue;
		const left: Partial<WaitpointRecord> = { suspension: 0, activatedAt: 0, signalNames: [] };
		tx.put(waitpointKey(id), amend(record, isOfEnd ? left : { closedAt: now, closedBy: "suspension" }));
	}
}
