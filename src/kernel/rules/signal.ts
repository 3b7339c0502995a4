import type { Deed } from "../changing.ts";
import type { EventDraft } from "../events.ts";
import { makeId, trustedSlot } from "../ids.ts";
import { type Outcome, refuse } from "../outcome.ts";
import type { Blob, Payload } from "../payload.ts";
import { DEFAULT_MAX_SIGNALS } from "../policy.ts";
import { amendExecution, type ExecutionRecord, type Parts, partsOf } from "../records/execution.ts";
import { amend } from "../records/record.ts";
import {
	makeSignal,
	type SignalEffect,
	type SignalRecord,
	type SignalSource,
	sentSignalKey,
	signalKey,
} from "../records/signal.ts";
import { suspensionKey } from "../records/suspension.ts";
import { waitpointKey } from "../records/waitpoint.ts";
import { publicState } from "../state.ts";
import { satisfiedBy } from "../suspension/condition.ts";
import { count } from "../suspension/counting.ts";
import { currentSuspension } from "../suspension/ending.ts";
import { withCounted } from "../suspension/handing-over.ts";
import { satisfy } from "../suspension/resuming.ts";
import { latestWaitpoint, type Waitpoint, waitpointState } from "../suspension/waitpoints.ts";
import { find, notFound, type Target } from "../target.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";

/** How long it is known that a signal was sent. */
const SENT_MS = 86_400_000;

/** What a signal says, whichever way it comes. */
export interface SignalContent {
	name: string;
	payload: Payload | null;
	payloadBlob?: Blob;
	source?: SignalSource;
	category?: string;
	correlationId?: string;
	idempotencyKey?: string;
	uuid: string;
	actor: string;
}

export interface SignalCommand extends Target, SignalContent {
	op: "signal";
	/** Its token was checked by whoever sends this. */
	waitpointId: string;
}

export type SignalOutcome = Outcome<{
	status: "accepted" | "duplicate";
	signalId: string;
	effect: SignalEffect;
}>;

export function signal(tx: Tx, command: SignalCommand, now: number): SignalOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const { waitpointId } = command;
	const waitpoint = tx.get(waitpointKey(waitpointId));
	if (!waitpoint || waitpoint.executionId !== record.id) return refuse("waitpoint_not_found", { waitpointId });
	return deliver(tx, record, { id: waitpointId, record: waitpoint }, command, now);
}

/** An operator says yes, or anything else that is waited for, without a token. */
export interface ApproveCommand extends Target, SignalContent {
	op: "approve";
	/** The key of a waitpoint; the first of the suspension when left out. */
	waitpoint?: string;
}

export function approve(tx: Tx, command: ApproveCommand, now: number): SignalOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const key = command.waitpoint ?? currentSuspension(tx, record)?.waitpoints[0]?.key;
	if (key === undefined) {
		return refuse("execution_not_suspended", { executionId: record.id, publicState: publicState(record) });
	}
	const waitpoint = latestWaitpoint(tx, record, key);
	if (!waitpoint) return refuse("waitpoint_not_found", { executionId: record.id, field: "waitpoint", waitpoint: key });
	return deliver(tx, record, waitpoint, command, now);
}

/** What was sent before is known before anything else is asked: whoever sends it again is told of the first. */
function deliver(
	tx: Tx,
	record: ExecutionRecord,
	{ id: waitpointId, record: waitpoint }: Waitpoint,
	content: SignalContent,
	now: number,
): SignalOutcome {
	const { idempotencyKey = "" } = content;
	const sentKey = sentSignalKey(record.id, waitpointId, idempotencyKey);
	const sent = idempotencyKey === "" ? undefined : tx.getFresh(sentKey);
	if (sent && sent.at + SENT_MS > now) {
		const first = tx.get(signalKey(record.id, sent.number));
		if (first) return { ok: true, status: "duplicate", signalId: first.id, effect: first.effect };
	}
	const state = waitpointState(waitpoint, record, now);
	if (state === "closed") return refuse("waitpoint_closed", { waitpointId });
	const before = partsOf(record);
	const limit = record.policy.maxSignals ?? DEFAULT_MAX_SIGNALS;
	if (before.signals - before.signalsBefore >= limit)
		return refuse("signal_limit_exceeded", { executionId: record.id, limit });

	const number = before.signals + 1;
	const fresh = makeSignal({
		id: makeId("sg", content.uuid, trustedSlot(record.id)),
		waitpointId,
		waitpoint: waitpoint.key,
		name: content.name,
		payload: content.payload,
		source: content.source ?? null,
		category: content.category ?? "",
		correlationId: content.correlationId ?? "",
		idempotencyKey,
		at: now,
		effect: "buffered",
	});
	if (content.payloadBlob) tx.putBlob(content.payloadBlob);
	if (idempotencyKey !== "") tx.put(sentKey, sent ? amend(sent, { number, at: now }) : { number, at: now });
	const parts: Parts = { ...before, signals: number };
	const deed = { now, actor: content.actor };
	const effect =
		state === "active" ? offer(tx, record, parts, number, fresh, deed) : buffer(tx, record, parts, number, fresh, deed);
	return { ok: true, status: "accepted", signalId: fresh.id, effect };
}

/** Nothing waits for it yet. */
function buffer(
	tx: Tx,
	record: ExecutionRecord,
	parts: Parts,
	number: number,
	fresh: SignalRecord,
	deed: Deed,
): SignalEffect {
	keep(tx, record, number, fresh);
	transition(tx, record, { parts }, deed, signalled(fresh));
	return "buffered";
}

/** Shows a signal to the suspension that waits for it. */
function offer(
	tx: Tx,
	record: ExecutionRecord,
	parts: Parts,
	number: number,
	fresh: SignalRecord,
	deed: Deed,
): SignalEffect {
	const suspension = currentSuspension(tx, record);
	if (!suspension || !record.suspension) return buffer(tx, record, parts, number, fresh, deed);
	const counting = count(tx, record.id, record.suspension.number, suspension, fresh);
	const { leaves, isAlike } = counting;
	const counted = leaves.length > 0;
	const next = counted ? withCounted(suspension, number, fresh, counting) : suspension;
	const holding = counted ? satisfiedBy(next.condition, next.counts) : undefined;
	const effect = holding ? "resumed" : counted ? "appended" : isAlike ? "appended_duplicate" : "ignored";
	const seen = amend(fresh, { effect, suspension: record.suspension.number, leaves });
	keep(tx, record, number, seen);
	if (holding) satisfy(tx, amendExecution(record, { parts }), next, holding, deed, signalled(seen));
	else {
		if (counted) tx.put(suspensionKey(record.id, record.suspension.number), next);
		transition(tx, record, { parts }, deed, signalled(seen));
	}
	return effect;
}

function keep(tx: Tx, { id }: ExecutionRecord, number: number, fresh: SignalRecord): void {
	tx.getFresh(signalKey(id, number));
	tx.put(signalKey(id, number), fresh);
}

/** What it carries is for its execution, not for whoever reads events. */
function signalled({ id, waitpointId, waitpoint, name, effect, source }: SignalRecord): EventDraft {
	const event: EventDraft = { type: "signalled", signalId: id, waitpointId, waitpoint, name, effect };
	if (source) event.source = source;
	return event;
}
