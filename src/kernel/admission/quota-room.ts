import type { QuotaRecord } from "../records/quota.ts";
import { counted, freeAt } from "./sliding-window.ts";

/** Why a quota does not admit anything just now. */
export interface QuotaRefusal {
	/** For a person, naming the quota. */
	detail: string;
	/** Which of its limits is reached. */
	limit: "rate" | "concurrency";
	/** When there will be room again, if that is known. */
	freeAt?: number;
}

/** Undefined when a quota, its window trimmed, admits one more. */
export function quotaRefusal(quota: QuotaRecord, now: number): QuotaRefusal | undefined {
	const { id, rate, concurrency, held } = quota;
	const count = rate ? counted(quota, now) : 0;
	if (rate && count >= rate.max) {
		const detail = `quota ${id}: rate ${count}/${rate.max} in ${rate.windowMs} ms`;
		return { detail, limit: "rate", freeAt: freeAt(quota) ?? now + rate.windowMs };
	}
	if (concurrency > 0 && held >= concurrency)
		return { detail: `quota ${id}: concurrency ${held}/${concurrency}`, limit: "concurrency" };
	return undefined;
}

/** How many more a quota admits; a window that was not trimmed may make it fewer. */
export function quotaRoom(quota: QuotaRecord, now: number): number {
	const { rate, concurrency, held } = quota;
	const bySlots = concurrency > 0 ? concurrency - held : Number.POSITIVE_INFINITY;
	const byRate = rate ? rate.max - counted(quota, now) : Number.POSITIVE_INFINITY;
	return Math.max(0, Math.min(bySlots, byRate));
}
