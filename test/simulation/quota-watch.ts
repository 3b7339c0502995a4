import type { QuotaRecord } from "../../src/kernel/records/quota.ts";
import { Violation } from "./violation.ts";
import { type GuardChange, WatchedGuard } from "./watched-guard.ts";

/** What a quota has admitted, worked out from its holds alone. */
export class QuotaWatch extends WatchedGuard<QuotaRecord> {
	/** Holds admitted since its slots were last made fewer, or it was deleted. */
	readonly #recent = new Set<string>();
	/** Admissions that count in its window, by time; those that were given back unused are out of it again. */
	#admissions: { at: number; holdId: string }[] = [];

	protected judge(change: GuardChange<QuotaRecord>, wasLeased: (holdId: string) => boolean): void {
		const { states, taken, returned } = change;
		states.forEach((next, n) => {
			if (n > 0) this.#defined(states[n - 1], next);
		});
		for (const holdId of returned)
			if (!wasLeased(holdId)) this.#admissions = this.#admissions.filter((each) => each.holdId !== holdId);
		if (taken.size > 0) this.#checkSlots(states);
		for (const [holdId, { since }] of taken) this.#admit(holdId, since, states);
		const { record } = this;
		if (record && record.held !== this.holds.size)
			throw new Violation(`${this.name} counts ${record.held} slots as held, and ${this.holds.size} are`);
	}

	/** Limits that get narrower say nothing of what was admitted before. */
	#defined(before: QuotaRecord | undefined, next: QuotaRecord | undefined): void {
		const [had, has] = [slotsOf(before), slotsOf(next)];
		if (has < had || this.isOther(before, next)) this.#recent.clear();
		const [old, rate] = [before?.rate, next?.rate];
		if (!old || !rate || this.isOther(before, next)) this.#admissions = [];
		else if (rate.windowMs > old.windowMs) {
			// What had left the narrower window is not known any more.
			const from = this.time - old.windowMs;
			this.#admissions = this.#admissions.filter(({ at }) => at > from);
		}
	}

	#checkSlots(states: readonly (QuotaRecord | undefined)[]): void {
		const most = Math.max(...states.map(slotsOf));
		if (this.holds.size > most)
			throw new Violation(`${this.name} has ${most} slots, and gave one more to ${[...this.holds.keys()].at(-1)}`);
	}

	#admit(holdId: string, at: number, states: readonly (QuotaRecord | undefined)[]): void {
		this.#recent.add(holdId);
		const rates = states.flatMap((state) => (state ? [state.rate] : []));
		if (rates.length === 0 || rates.some((rate) => !rate)) return;
		this.#admissions.push({ at, holdId });
		this.#admissions.sort((a, b) => a.at - b.at);
		const max = Math.max(...rates.map((rate) => rate?.max ?? 0));
		const windowMs = Math.min(...rates.map((rate) => rate?.windowMs ?? 0));
		this.#admissions.forEach((first, n) => {
			const over = this.#admissions[n + max];
			if (over && over.at - first.at < windowMs && first.at <= at && at <= over.at)
				throw new Violation(
					`${this.name} admitted ${max + 1} from ${first.at} to ${over.at}, and allows ${max} in ${windowMs} ms`,
				);
		});
		const last = this.#admissions.at(-1)?.at ?? 0;
		this.#admissions = this.#admissions.filter((each) => each.at > last - 10_000);
	}

	/** Those who run, or may begin to, by their holds: never more of them than there are slots. */
	checkLive(live: ReadonlySet<string>): void {
		const most = slotsOf(this.record);
		const counted = [...live].filter((holdId) => this.#recent.has(holdId));
		if (counted.length > most)
			throw new Violation(`${this.name} has ${most} slots, and ${counted.length} run: ${counted}`);
	}

	/** Whether it would admit something. */
	override hasRoom(): boolean {
		const { record } = this;
		if (!record) return true;
		const { rate } = record;
		const counted = rate ? this.#admissions.filter(({ at }) => at > this.time - rate.windowMs).length : 0;
		return this.holds.size < slotsOf(record) && counted < (rate?.max ?? Number.POSITIVE_INFINITY);
	}
}

const slotsOf = (quota: QuotaRecord | undefined): number => quota?.concurrency || Number.POSITIVE_INFINITY;
