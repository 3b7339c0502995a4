import { BLOCKING_CAUSES, type BlockingCause } from "../blocking.ts";
import type { Deed } from "../changing.ts";
import { makeId, trustedSlot } from "../ids.ts";
import type { ExecutionRecord, Hold } from "../records/execution.ts";
import type { GuardName } from "../records/guard.ts";
import { amend } from "../records/record.ts";
import { makeTurn, turnKey } from "../records/turn.ts";
import { blocked, eligible } from "../state.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import { areHere, guardKey, guardsToAsk, guardText, wantedOf } from "./guards.ts";
import { type HoldRefusal, type Jitter, keepsSlot, refusalBy, take } from "./holding.ts";
import { returnHold } from "./returning.ts";

/**
 * How work that names budgets and quotas comes to run:
 *
 *   hold      it leaves its queue under the id of the lease to be, for a few seconds
 *   reserve   its budgets, then its quotas, are asked one after the other, where they live (`holding`)
 *   settle    it is leased or granted, or set aside for what refused it, or goes back to its queue
 *
 * Where all of them live beside it, one step does all three. Whatever happens in between, the hold ends by itself, and
 * ends with a message to everything that may have given something for it (`returning`).
 */

/** How long it may take to ask budgets and quotas in other partitions. */
export const ADMISSION_MS = 5000;

/**
 * How long a refusal speaks for others that the same call finds. They must be set aside while the budget or quota still
 * expects somebody to come and wait (`waiting`), even if they are held first.
 */
const REFUSAL_STANDS_MS = 2000;

/** A refusal that still speaks for others; one from before an engine stood still says nothing of now. */
export const standing = (refusal: HoldRefusal | undefined, now: number): HoldRefusal | undefined =>
	refusal && now - refusal.at < REFUSAL_STANDS_MS ? refusal : undefined;

/** When an execution was held for admission. */
export const heldAt = ({ hold }: ExecutionRecord): number => (hold?.until ?? 0) - ADMISSION_MS;

/** What a call that looks for work has found out so far. */
export interface AdmissionTerms {
	jitter: Jitter;
	/** What refused somebody in this call, by `guardText`, and why: while that stands, it is not asked again. */
	refused: ReadonlyMap<string, HoldRefusal>;
	/** What could not be asked, by `guardText`. Work that names it is passed over. */
	unreadable: ReadonlySet<string>;
	/** Nothing is taken elsewhere meanwhile: what can be admitted in one step need not wait for the others. */
	isAlone: boolean;
	/** How many may be held or set aside, of all that the call examines. */
	most: number;
}

export type AdmissionStep =
	| { step: "admitted"; hold: Hold }
	| { step: "held"; record: ExecutionRecord }
	/** `by` when what refused it lives elsewhere, and should be looked at once more. */
	| { step: "blocked"; record: ExecutionRecord; by?: GuardName }
	| { step: "passed" };

export const holdIdOf = (record: ExecutionRecord, uuid: string): string => makeId("le", uuid, trustedSlot(record.id));

/** The uuid of the lease a hold is for. */
export const uuidOfHold = (holdId = ""): string => holdId.slice("le_".length, holdId.lastIndexOf("_"));

/** The first step with a candidate, and the last where all that admits it lives beside it. */
export function admit(
	tx: Tx,
	record: ExecutionRecord,
	uuid: string,
	isGrant: boolean,
	terms: AdmissionTerms,
	deed: Deed,
): AdmissionStep {
	const { now } = deed;
	const guards = guardsToAsk(record);
	if (guards.some((guard) => terms.unreadable.has(guardText(guard)))) return { step: "passed" };
	const id = holdIdOf(record, uuid);
	if (!terms.isAlone || !areHere(tx, guards)) {
		for (const by of guards) {
			const refusal = standing(terms.refused.get(guardText(by)), now);
			if (refusal) return { step: "blocked", record: setAside(tx, record, by, refusal, deed), by };
		}
		const changes: Partial<ExecutionRecord> = { hold: { id, until: now + ADMISSION_MS, admittedAt: 0 } };
		changes.blockingDetail = "being admitted";
		changes.blockedAt = now;
		return { step: "held", record: transition(tx, record, changes, deed) };
	}
	if (guards.some((guard) => tx.isUnreadable(guardKey(guard)))) return { step: "passed" };
	for (const guard of guards) {
		const refusal = refusalBy(tx, guard, wantedOf(record, guard), now, terms.jitter);
		if (refusal) return { step: "blocked", record: setAside(tx, record, guard, refusal, deed) };
	}
	for (const guard of guards) {
		const wanted = wantedOf(record, guard);
		const request = { executionId: record.id, holdId: id, until: now, ...(wanted ? { wanted } : undefined) };
		take(tx, guard, isGrant ? { ...request, isGrant } : request, now);
	}
	const keeps = guards.filter((guard) => keepsSlot(tx, guard)).map((guard) => guard.id);
	const hold: Hold = { id, until: 0, admittedAt: now };
	return { step: "admitted", hold: keeps.length > 0 ? { ...hold, keeps } : hold };
}

/** Admission came to nothing: it is back in its queue, and what was taken for it goes back. */
export function endAdmission(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	const changes: Partial<ExecutionRecord> = eligible(record.attemptState);
	changes.hold = null;
	changes.blockingDetail = "";
	changes.blockedAt = 0;
	transition(tx, record, changes, deed);
}

/** One of its budgets or quotas refused it; those before that one, which had been taken, get theirs back. */
export function refuseAdmission(
	tx: Tx,
	record: ExecutionRecord,
	by: GuardName,
	refusal: HoldRefusal,
	deed: Deed,
): ExecutionRecord {
	const guards = guardsToAsk(record);
	const taken = guards.findIndex(({ kind, id }) => kind === by.kind && id === by.id);
	returnHold(tx, record, deed.now, taken < 0 ? guards : guards.slice(0, taken));
	return setAside(tx, amend(record, { hold: null }), by, refusal, deed);
}

/** Moves work off its queue to where it waits for a budget or quota. */
function setAside(
	tx: Tx,
	record: ExecutionRecord,
	by: GuardName,
	{ detail, limit }: HoldRefusal,
	deed: Deed,
): ExecutionRecord {
	const changes: Partial<ExecutionRecord> = { blockedOn: by.id };
	if (record.fairnessKey !== "" && record.turn === 0) changes.turn = nextTurn(tx, record, by, deed.now);
	return blockFor(tx, record, by.kind, changes, { detail, limit }, deed);
}

/** Moves work off its queue, whatever the cause. */
export function blockFor(
	tx: Tx,
	record: ExecutionRecord,
	cause: BlockingCause,
	more: Partial<ExecutionRecord>,
	why: { detail: string; limit?: string },
	deed: Deed,
): ExecutionRecord {
	const { eligibilityState, blockingReason: reason } = BLOCKING_CAUSES[cause];
	const changes: Partial<ExecutionRecord> = blocked(eligibilityState, reason, record.attemptState);
	changes.blockingDetail = why.detail;
	changes.blockedAt = deed.now;
	return transition(tx, record, { ...changes, ...more }, deed, { type: "blocked", reason, ...why });
}

function nextTurn(tx: Tx, { namespace, fairnessKey }: ExecutionRecord, guard: GuardName, now: number): number {
	const key = turnKey(guard, fairnessKey);
	const known = tx.get(key);
	const last = Math.max(now, (known?.last ?? 0) + 1);
	tx.put(key, known ? amend(known, { last }) : makeTurn({ namespace, last }));
	return last;
}
