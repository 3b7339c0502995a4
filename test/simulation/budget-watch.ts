import type { Amounts, BudgetRecord, LedgerEntryRecord, UsageKeyRecord } from "../../src/kernel/records/budget.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import { Violation } from "./violation.ts";
import { type GuardChange, WatchedGuard } from "./watched-guard.ts";

/** What a budget has promised and counted, worked out from its holds, its ledger and its keys. */
export class BudgetWatch extends WatchedGuard<BudgetRecord> {
	readonly ledger = new Map<string, LedgerEntryRecord>();
	/** What was done under a key, in which life. */
	readonly #keys = new Map<string, { life: number; expiresAt: number }>();

	/** Something was done under a key. */
	keyed(key: string, { expiresAt }: UsageKeyRecord): void {
		const known = this.#keys.get(key);
		if (known && known.life === this.life && known.expiresAt > this.time)
			throw new Violation(`${this.name} did what is known as ${key} twice`);
		this.#keys.set(key, { life: this.life, expiresAt });
	}

	protected judge({ states, taken }: GuardChange<BudgetRecord>): void {
		states.forEach((next, n) => {
			const before = states[n - 1];
			if (before && next && !this.isOther(before, next)) this.#checkLimits(before, next);
		});
		for (const holdId of taken.keys()) this.#checkAdmission(holdId, states, taken);
		if (this.record) this.#checkSums(this.record);
	}

	/** Nothing is promised or counted beyond a limit, whatever it was lowered to. */
	#checkLimits(before: BudgetRecord, next: BudgetRecord): void {
		for (const [dimension, { hard = Number.POSITIVE_INFINITY }] of Object.entries(next.dimensions)) {
			const limit = Math.max(hard, before.dimensions[dimension]?.hard ?? Number.POSITIVE_INFINITY);
			const [had, has] = [before, next].map(({ used }) => used[dimension] ?? 0) as [number, number];
			const [wasPromised, isPromised] = [before, next].map(({ reserved }) => reserved[dimension] ?? 0) as [
				number,
				number,
			];
			if (has > had && has > limit) throw new Violation(`${this.name} counts ${has} ${dimension} of ${limit}`);
			if (has + isPromised > had + wasPromised && has + isPromised > limit)
				throw new Violation(`${this.name} counts ${has} ${dimension} and promised ${isPromised}, of ${limit}`);
		}
	}

	/** Somebody was admitted: at some point of the unit there must have been room, and no report refused. */
	#checkAdmission(
		holdId: string,
		states: readonly (BudgetRecord | undefined)[],
		taken: GuardChange<BudgetRecord>["taken"],
	): void {
		const promised = [...taken.values()].map(({ reserved }) => reserved ?? {});
		const closed = states.map((state) => state && whyClosed(state, promised));
		const [why] = closed;
		if (closed.every((each) => each !== undefined)) throw new Violation(`${this.name} admitted ${holdId}: ${why}`);
	}

	#checkSums({ used, reserved, period }: BudgetRecord): void {
		const entries = [...this.ledger.values()].filter((entry) => entry.period === period);
		this.#checkSame("used", used, sumOf(entries.map(({ dims }) => dims)));
		this.#checkSame("reserved", reserved, sumOf([...this.holds.values()].map((hold) => hold.reserved ?? {})));
	}

	#checkSame(what: string, told: Amounts, sum: Amounts): void {
		for (const dimension of new Set([...Object.keys(told), ...Object.keys(sum)])) {
			const [counted, found] = [told[dimension] ?? 0, sum[dimension] ?? 0];
			if (counted !== found)
				throw new Violation(`${this.name} counts ${counted} ${dimension} as ${what}, ${found} are`);
		}
	}

	override hasRoom({ reserve }: ExecutionRecord): boolean {
		const { record } = this;
		if (!record) return true;
		const wanted = reserve?.[record.id] ?? {};
		if (whyClosed(record, []) !== undefined) return false;
		return Object.entries(record.dimensions).every(([dimension, { hard = Number.POSITIVE_INFINITY }]) => {
			const spent = (record.used[dimension] ?? 0) + (record.reserved[dimension] ?? 0);
			return spent + (wanted[dimension] ?? 0) <= hard;
		});
	}
}

/** Undefined when a budget admits work that wants nothing reserved; `promised` has only just been. */
function whyClosed({ dimensions, used, reserved, exhausted }: BudgetRecord, promised: Amounts[]): string | undefined {
	const fresh = sumOf(promised);
	for (const [dimension, { hard = Number.POSITIVE_INFINITY }] of Object.entries(dimensions)) {
		if (exhausted[dimension]) return `a report of ${exhausted[dimension].report} ${dimension} was refused`;
		const spent = (used[dimension] ?? 0) + (reserved[dimension] ?? 0) - (fresh[dimension] ?? 0);
		if (spent >= hard) return `${spent} ${dimension} of ${hard} are spent or promised`;
	}
	return undefined;
}

function sumOf(amounts: readonly Amounts[]): Amounts {
	const sum: Record<string, number> = {};
	for (const each of amounts)
		for (const [dimension, amount] of Object.entries(each)) sum[dimension] = (sum[dimension] ?? 0) + amount;
	return sum;
}
