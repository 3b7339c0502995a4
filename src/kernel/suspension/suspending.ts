import { type Deed, leaseEvent, takeLease } from "../changing.ts";
import { makeId, trustedSlot } from "../ids.ts";
import type { ExecutionRecord, LeaseEnd, Parts, Suspension, TimeoutBehavior } from "../records/execution.ts";
import { amend } from "../records/record.ts";
import { makeSuspension, type SuspensionRecord, suspensionKey } from "../records/suspension.ts";
import { waitpointKey } from "../records/waitpoint.ts";
import { suspended } from "../state.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import { type Condition, leavesOf, signalNamesAt } from "./condition.ts";
import { SUSPENSION_REASONS, type SuspensionReason } from "./reasons.ts";
import { addWaitpoint, openWaitpoint } from "./waitpoints.ts";

/** What is to be waited for, whoever says so. */
export interface SuspensionTerms {
	reason: SuspensionReason;
	condition: Condition;
	/** Keys of waitpoints, the first the one that is meant where none is named. */
	keys: readonly string[];
	timeoutAt?: number;
	timeoutBehavior: TimeoutBehavior;
	resumeDelayMs: number;
	idempotencyKey: string;
	digest: string;
	/** The budget that pauses it. */
	budget?: string;
	/** One for the suspension and one for each waitpoint. */
	uuids: readonly string[];
}

/** A suspension that is about to begin. */
export interface NewSuspension {
	number: number;
	record: SuspensionRecord;
	parts: Parts;
	/** Waitpoints that were there before: signals may have come to them. */
	earlier: string[];
}

/** Makes a suspension and opens its waitpoints: those that are open already stay the same. */
export function beginSuspension(
	tx: Tx,
	execution: ExecutionRecord,
	before: Parts,
	terms: SuspensionTerms,
	now: number,
): NewSuspension {
	const [uuid = "", ...uuids] = terms.uuids;
	const number = before.suspensions + 1;
	const first = terms.keys[0];
	// What was handed over is so until the next suspension.
	const { handed: _, handedBytes: _handed, joined: _joined, joinedBytes: _bytes, ...kept } = before;
	let parts: Parts = { ...kept, suspensions: number };
	const earlier: string[] = [];
	const waitpoints = terms.keys.map((key, n) => {
		const active = { suspension: number, activatedAt: now, signalNames: signalNamesAt(terms.condition, key, first) };
		const known = openWaitpoint(tx, execution, key, now);
		if (known) {
			tx.put(waitpointKey(known.id), amend(known.record, active));
			earlier.push(known.id);
			return { id: known.id, key };
		}
		const added = addWaitpoint(tx, execution, parts, uuids[n] ?? "", { key, createdAt: now, ...active });
		parts = added.parts;
		return { id: added.waitpoint.id, key };
	});
	const { reason, condition, resumeDelayMs, timeoutBehavior, idempotencyKey, digest } = terms;
	const record = makeSuspension({
		id: makeId("su", uuid, trustedSlot(execution.id)),
		generation: parts.generation,
		reason,
		condition,
		waitpoints,
		resumeDelayMs,
		timeoutBehavior,
		epoch: execution.epoch,
		digest,
		idempotencyKey,
		since: now,
		counts: leavesOf(condition).map(() => 0),
	});
	return { number, record, parts, earlier };
}

/** Takes the lease off an execution and has it wait. */
export function enterSuspension(
	tx: Tx,
	execution: ExecutionRecord,
	{ number, record, parts }: NewSuspension,
	how: {
		terms: SuspensionTerms;
		by: LeaseEnd["by"];
		isReplaying: boolean;
		detail?: string;
		breach?: LeaseEnd["breach"];
	},
	deed: Deed,
): void {
	const { terms, by, isReplaying, detail = "", breach } = how;
	const { now } = deed;
	const { timeoutAt, timeoutBehavior, budget } = terms;
	tx.put(suspensionKey(execution.id, number), record);
	const suspension: Suspension = { number, id: record.id, since: now };
	if (timeoutAt !== undefined) {
		suspension.timeoutAt = timeoutAt;
		suspension.timeoutBehavior = timeoutBehavior;
	}
	if (isReplaying) suspension.isReplaying = true;
	if (budget !== undefined) suspension.budget = budget;
	const reason = SUSPENSION_REASONS[terms.reason];
	const changes: Partial<ExecutionRecord> = suspended(reason);
	takeLease(changes, execution, now, by, { suspension: number });
	changes.kept = keptBy(execution);
	if (changes.attempt) changes.attempt.state = "suspended";
	if (breach && changes.lastLease) changes.lastLease.breach = breach;
	changes.suspension = suspension;
	changes.parts = parts;
	changes.blockingDetail = detail;
	changes.blockedAt = now;
	const event = leaseEvent("suspended", execution);
	event.suspensionId = record.id;
	event.reason = terms.reason;
	if (timeoutAt !== undefined) event.timeoutAt = timeoutAt;
	if (detail !== "") event.detail = detail;
	transition(tx, execution, changes, deed, event);
}

/** The slots it had kept already, and those that the quotas of this lease let it keep. */
function keptBy({ kept, hold }: ExecutionRecord): ExecutionRecord["kept"] {
	const more = (hold?.keeps ?? []).map((quota) => ({ quota, holdId: hold?.id ?? "" }));
	return more.length > 0 ? [...(kept ?? []), ...more] : kept;
}
