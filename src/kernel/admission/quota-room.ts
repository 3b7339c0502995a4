import type { QuotaRecord } from "../records/quota.ts";
import { counted, freeAt } from "./sliding-window.ts";

/** Why a quota does not admit anything just now. */
export interface QuotaRefusal {
	/** For a person, naming the quota. */
	detail: string;
	/** When there will be room again, if that is known. */
	freeAt?: number;
}

/** Undefined when a quota, its window trimmed, admits one more. */
export function quotaRefusal(quota: QuotaRecord, now: number): QuotaRefusal | undefined {
	const { id, rate, concurrency, held } = quota;
	if (rate && counted(quota) >= rate.max) {
		const at = freeAt(quota) ?? now + rate.windowMs;
		return { detail: `quota ${id}: rate ${counted(quota)}/${rate.max} in ${rate.windowMs} ms`, freeAt: at };
	}
	if (concurrency > 0 && held >= concurrency) return { detail: `quota ${id}: concurrency ${held}/${concurrency}` };
	return undefined;
}

/** How many more a quota, its window trimmed, admits. */
export function quotaRoom({ rate, concurrency, held, ...window }: QuotaRecord): number {
	const bySlots = concurrency > 0 ? concurrency - held : Number.POSITIVE_INFINITY;
	const byRate = rate ? rate.max - counted(window) : Number.POSITIVE_INFINITY;
	return Math.max(0, Math.min(bySlots, byRate));
}
