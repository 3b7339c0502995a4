import type { BudgetRecord } from "../records/budget.ts";
import type { ExecutionRecord } from "../records/execution.ts";
import { type GuardKind, type GuardRecord, isGone } from "../records/guard.ts";
import type { QuotaRecord } from "../records/quota.ts";
import { amend } from "../records/record.ts";
import { asOf } from "./budget-period.ts";
import { addAmounts, budgetRefusal } from "./budget-room.ts";
import { wantedOf } from "./guards.ts";
import { quotaRoom } from "./quota-room.ts";

/**
 * What a budget or quota has room for, for whoever releases what waits. It is an estimate: admission decides. What was
 * released already counts as taken when the budget or quota is looked at again, since it may not have come to claim yet.
 */
export class Room {
	readonly #kind: GuardKind;
	#record: GuardRecord | undefined;
	#now = 0;
	/** Released so far. */
	#slots = 0;
	#reserved: BudgetRecord["reserved"] = {};

	constructor(kind: GuardKind) {
		this.#kind = kind;
	}

	/** As it is now; undefined when there is none, which limits nothing. */
	see(record: GuardRecord | undefined, now: number): void {
		this.#record = record && !isGone(record) ? record : undefined;
		this.#now = now;
	}

	/** When it was seen. */
	get now(): number {
		return this.#now;
	}

	/** Whether it is of any use to look at what waits. */
	get isOpen(): boolean {
		if (!this.#record) return true;
		if (this.#kind === "quota") return this.#slotsLeft(this.#record as QuotaRecord) > 0;
		return budgetRefusal(this.#budget(this.#record as BudgetRecord), undefined) === undefined;
	}

	/** True, and one less, if there is room for this execution. */
	take(execution: ExecutionRecord): boolean {
		if (!this.isOpen) return false;
		if (!this.#record) return true;
		if (this.#kind === "quota") {
			this.#slots += 1;
			return true;
		}
		const budget = this.#record as BudgetRecord;
		const { namespace, id } = budget;
		const wanted = wantedOf(execution, { kind: "budget", namespace, id });
		if (!wanted) return true;
		if (budgetRefusal(this.#budget(budget), wanted)) return false;
		this.#reserved = addAmounts(this.#reserved, wanted);
		return true;
	}

	#slotsLeft(quota: QuotaRecord): number {
		return quotaRoom(quota, this.#now) - this.#slots;
	}

	#budget(budget: BudgetRecord): BudgetRecord {
		const current = asOf(budget, this.#now);
		return amend(current, { reserved: addAmounts(current.reserved, this.#reserved) });
	}
}
