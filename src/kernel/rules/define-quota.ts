import { isQuota, type QuotaDefinition } from "../admission/definitions.ts";
import { clearWindow, trimWindow } from "../admission/sliding-window.ts";
import { releasing } from "../admission/waiting.ts";
import { type Outcome, type Refusal, refuse } from "../outcome.ts";
import { isGone } from "../records/guard.ts";
import { makeQuota, type QuotaRecord, quotaKey, type Rate } from "../records/quota.ts";
import { amend } from "../records/record.ts";
import type { Tx } from "../tx.ts";

export interface QuotaName {
	namespace: string;
	id: string;
}

const find = (tx: Tx, { namespace, id }: QuotaName): QuotaRecord | undefined => {
	const quota = tx.get(quotaKey(namespace, id));
	return quota && !isGone(quota) ? quota : undefined;
};

const noQuota = ({ id }: QuotaName): Refusal => refuse("quota_not_found", { quota: id });

export interface CreateQuotaCommand extends QuotaName, QuotaDefinition {
	op: "createQuota";
}

export type CreateQuotaOutcome = Outcome<{ quota: QuotaRecord; created: boolean }>;

export function createQuota(tx: Tx, command: CreateQuotaCommand, now: number): CreateQuotaOutcome {
	const { op: _, ...definition } = command;
	const { namespace, id } = command;
	const key = quotaKey(namespace, id);
	const known = tx.get(key);
	if (known && !isGone(known)) {
		const isSame = isQuota(known, command);
		return isSame ? { ok: true, quota: known, created: false } : refuse("already_exists", { quota: id });
	}
	// What was deleted may have holders yet: their slots and admissions still count.
	const fields = { ...definition, createdAt: now, removeAt: 0 };
	const quota = known ? releasing(withWindow(tx, amend(known, fields), now), now) : makeQuota(fields);
	tx.put(key, quota);
	return { ok: true, quota, created: true };
}

/** Without a rate nothing is counted, and what was counted is let go. */
const withWindow = (tx: Tx, quota: QuotaRecord, now: number): QuotaRecord =>
	quota.rate ? trimWindow(tx, quota, now) : clearWindow(tx, quota);

export interface PatchQuotaCommand extends QuotaName {
	op: "patchQuota";
	/** Null takes the limit away; one of them must stay. */
	rate?: Rate | null;
	concurrency?: number | null;
	holdWhileSuspended?: boolean;
	jitterMs?: number;
}

export type QuotaOutcome = Outcome<{ quota: QuotaRecord }>;

/** Acts at once: what is given changes, the rest stays. */
export function patchQuota(tx: Tx, command: PatchQuotaCommand, now: number): QuotaOutcome {
	const quota = find(tx, command);
	if (!quota) return noQuota(command);
	const { rate = quota.rate, concurrency = quota.concurrency } = command;
	const { holdWhileSuspended = quota.holdWhileSuspended, jitterMs = quota.jitterMs } = command;
	if (!rate && !concurrency) return refuse("quota_without_limit", { quota: quota.id });
	const changed = amend(quota, { rate, concurrency: concurrency ?? 0, holdWhileSuspended, jitterMs });
	const next = releasing(withWindow(tx, changed, now), now);
	tx.put(quotaKey(quota.namespace, quota.id), next);
	return { ok: true, quota: next };
}

export interface DeleteQuotaCommand extends QuotaName {
	op: "deleteQuota";
}

/** It counts as absent from now on; its ticks remove all that belongs to it. */
export function deleteQuota(tx: Tx, command: DeleteQuotaCommand, now: number): Outcome {
	const quota = find(tx, command);
	if (!quota) return noQuota(command);
	tx.put(quotaKey(quota.namespace, quota.id), releasing(amend(quota, { removeAt: now }), now));
	return { ok: true };
}
