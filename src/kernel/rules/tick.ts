import type { Outcome } from "../outcome.ts";
import { DEFAULT_MAX_RECLAIMS } from "../policy.ts";
import type { ClaimRequestRecord } from "../records/claim-request.ts";
import { type ExecutionRecord, executionKey } from "../records/execution.ts";
import { type GrantRecord, grantForgottenAt } from "../records/grant.ts";
import type { IdempotencyKeyRecord } from "../records/idempotency-key.ts";
import type { LaneHomeRecord } from "../records/lane.ts";
import { amend, type Key } from "../records/record.ts";
import { recordTypeOf } from "../records/record-types.ts";
import { fairQueue, type TicketRecord } from "../records/ticket.ts";
import { type WorkerRecord, workerExpiresAt } from "../records/worker.ts";
import { isWithin, type ScannerFilter } from "../scanner-filter.ts";
import { eligible } from "../state.ts";
import { type Duty, timersOf } from "../timers.ts";
import { type Deed, endAttemptIn, ending, leaseEvent, takeLease, transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import { endCancelled } from "./cancel.ts";
import { SPREAD_AGAIN_MS } from "./change-lane.ts";
import { endAttempt } from "./fail.ts";
import { removeExecution } from "./remove.ts";

export interface TickCommand {
	op: "tick";
	key: string;
	/** Since when this partition could be written without a gap; leases get time to be renewed after an outage. */
	writableSince: number;
	/** A random number in 0..1 for a retry's backoff. */
	jitter: number;
	/** What the scanners that tick are restricted to; left out when they are not. */
	scannerFilter?: ScannerFilter;
}

/**
 * What was done; `again` says when to ask again about something that is held back although its time has come, `early` when
 * that time is if it has not, and `isOutside` that the record is for scanners with another scannerFilter.
 */
export type TickOutcome = Outcome<{
	duty?: Duty;
	again?: number;
	early?: number;
	errand?: Errand;
	isOutside?: boolean;
}>;

/** What a tick cannot do by itself, because it spans partitions. The record stays due until it is done. */
export type Errand = { type: "spread_lane"; home: LaneHomeRecord };

const MAX_LEASE_GRACE_MS = 10_000;

/** Whatever was due on a record, decided by the record: a tick that comes early, late or twice does no harm. */
export function tick(tx: Tx, command: TickCommand, now: number): TickOutcome {
	const { key, scannerFilter } = command;
	const record = scannerFilter && tx.get(key as Key<object>);
	if (scannerFilter && record && !isWithin(scannerFilter, key, record)) return { ok: true, isOutside: true };
	switch (recordTypeOf(command.key)) {
		case "execution":
			return tickExecution(tx, command, now);
		case "idempotencyKey":
			return drop(tx, command.key as Key<IdempotencyKeyRecord>, (record) => record.expiresAt, "key_expiry", now);
		case "claimRequest":
			return drop(tx, command.key as Key<ClaimRequestRecord>, (record) => record.expiresAt, "request_expiry", now);
		case "grant":
			return drop(tx, command.key as Key<GrantRecord>, grantForgottenAt, "grant_memory", now);
		case "ticket":
			return tickTicket(tx, command.key, now);
		case "laneHome":
			return tickLaneHome(tx, command.key, now);
		case "worker":
			return drop(tx, command.key as Key<WorkerRecord>, workerExpiresAt, "worker_expiry", now);
		default:
			return { ok: true };
	}
}

/** A record that only ever waits to go. */
function drop<R extends object>(
	tx: Tx,
	key: Key<R>,
	expiresAt: (record: R) => number,
	duty: Duty,
	now: number,
): TickOutcome {
	const record = tx.get(key);
	if (!record) return { ok: true };
	if (expiresAt(record) > now) return { ok: true, early: expiresAt(record) };
	tx.remove(key);
	return { ok: true, duty };
}

/** Looks once more behind a ticket that was found idle; its version vouches for what this look finds. */
function tickTicket(tx: Tx, key: Key<TicketRecord>, now: number): TickOutcome {
	const ticket = tx.get(key);
	if (!ticket || ticket.idleAt === 0) return { ok: true };
	if (tx.all(fairQueue(ticket), key, 1).length === 0) tx.remove(key);
	else tx.put(key, amend(ticket, { idleAt: 0, turnAt: Math.max(now, ticket.turnAt) }));
	return { ok: true, duty: "ticket_check" };
}

function tickLaneHome(tx: Tx, key: Key<LaneHomeRecord>, now: number): TickOutcome {
	const home = tx.get(key);
	if (!home || home.spreadAt === 0) return { ok: true };
	if (home.spreadAt > now) return { ok: true, early: home.spreadAt };
	tx.put(key, amend(home, { spreadAt: now + SPREAD_AGAIN_MS }));
	return { ok: true, duty: "lane_copies", errand: { type: "spread_lane", home } };
}

function tickExecution(tx: Tx, command: TickCommand, now: number): TickOutcome {
	const record = tx.get(executionKey(command.key));
	if (!record) return { ok: true };
	let again: number | undefined;
	const timers = timersOf(record);
	for (const { duty, at } of timers) {
		const due = duty === "lease_expiry" ? Math.max(at, renewalChanceEnds(record, command.writableSince)) : at;
		if (due <= now) {
			perform(tx, record, duty, command.jitter, { now, actor: duty });
			return { ok: true, duty };
		}
		// Only what is held back although its time has come: for the rest the index knows when to ask.
		if (at <= now) again = Math.min(again ?? due, due);
	}
	if (again !== undefined) return { ok: true, again };
	const [first] = timers;
	return first ? { ok: true, early: first.at } : { ok: true };
}

/** After a partition could not be written, holders that were unable to renew come first. */
function renewalChanceEnds(record: ExecutionRecord, writableSince: number): number {
	return record.lease ? writableSince + Math.min(record.lease.ttlMs / 3, MAX_LEASE_GRACE_MS) : 0;
}

function perform(tx: Tx, record: ExecutionRecord, duty: Duty, jitter: number, deed: Deed): void {
	const { now } = deed;
	switch (duty) {
		case "retention_trimmer":
			return removeExecution(tx, record, deed);
		case "execution_deadline":
			return expire(tx, record, "deadline exceeded", deed);
		case "queue_timeout":
			return expire(tx, record, "queue timeout exceeded", deed);
		case "cancel_grace":
			endCancelled(tx, record, "cancel", deed);
			return;
		case "attempt_timeout":
			if (record.cancel) endCancelled(tx, record, "timeout", deed);
			else {
				const reason = `attempt exceeded timeouts.attemptMs (${record.policy.timeouts?.attemptMs})`;
				endAttempt(tx, record, { reason, category: "timeout" }, jitter, "timeout", deed);
			}
			return;
		case "lease_expiry":
			return lapse(tx, record, deed);
		case "delayed_promoter":
			transition(tx, record, { ...eligible(record.attemptState), delayUntil: 0, eligibleAt: now }, deed, {
				type: "eligible",
			});
			return;
		case "key_expiry":
		case "request_expiry":
		case "worker_expiry":
		case "grant_memory":
		case "ticket_check":
		case "lane_copies":
			return;
		case "grant_expiry":
			return lapseGrant(tx, record, deed);
	}
}

function expire(tx: Tx, record: ExecutionRecord, reason: string, deed: Deed): void {
	const changes = ending(record, "expired", deed.now, "deadline");
	changes.failure = { reason, category: "expired" };
	const event = leaseEvent("expired", record);
	event.reason = reason;
	transition(tx, record, changes, deed, event);
}

/** Nobody accepted it in time: it goes back to where it stood. */
function lapseGrant(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	const { id = "", instanceId = "" } = record.grant ?? {};
	const changes: Partial<ExecutionRecord> = eligible(record.attemptState);
	changes.grant = null;
	transition(tx, record, changes, deed, { type: "grant_lapsed", grantId: id, instanceId });
}

/** Lost work returns by itself, as often as `maxReclaims` allows. */
function lapse(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	const { now } = deed;
	if (record.cancel) {
		endCancelled(tx, record, "expired", deed);
		return;
	}
	const max = record.policy.maxReclaims ?? DEFAULT_MAX_RECLAIMS;
	const reclaims = record.reclaims + 1;
	const lapsed = leaseEvent("lease_expired", record);
	lapsed.leaseId = record.lease?.id;
	let changes: Partial<ExecutionRecord> = eligible("attempt_interrupted");
	takeLease(changes, record, now, "expired");
	endAttemptIn(changes, record, "interrupted_reclaimed", now);
	changes.reclaims = reclaims;
	if (reclaims <= max) {
		changes.eligibleAt = now;
		transition(tx, record, changes, deed, lapsed);
		return;
	}
	const { attempt } = changes;
	const failure = { reason: "max_reclaims_exceeded", category: "max_reclaims_exceeded" };
	changes = ending(record, "failed", now, "expired");
	if (attempt) changes.attempt = attempt;
	changes.reclaims = reclaims;
	changes.failure = failure;
	transition(tx, record, changes, deed, lapsed, { type: "failed", ...failure });
}
