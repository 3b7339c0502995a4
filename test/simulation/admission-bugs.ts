import { Room } from "../../src/kernel/admission/room.ts";
import type { Kernel } from "../../src/kernel/kernel.ts";
import type { BudgetRecord } from "../../src/kernel/records/budget.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import { holdKey } from "../../src/kernel/records/hold.ts";
import { type QuotaRecord, quotaKey } from "../../src/kernel/records/quota.ts";
import { amend } from "../../src/kernel/records/record.ts";
import type { TakeBackCommand } from "../../src/kernel/rules/reserve.ts";
import type { SettleCommand } from "../../src/kernel/rules/settle.ts";
import type { Tx } from "../../src/kernel/tx.ts";
import { bent, isExecution, type Misreading, reading, writing } from "./bent-tx.ts";

/** Bugs that admission by budgets and quotas can have, and releasing what waits for them. */
export interface AdmissionBugs {
	holdNotRepaired?: boolean;
	returnedTwice?: boolean;
	windowTrimmedEarly?: boolean;
	roomNotLookedAt?: boolean;
	stopsAtFirst?: boolean;
	giveBackLost?: boolean;
	settledUnheld?: boolean;
	usageKeyIgnored?: boolean;
	exhaustionIgnored?: boolean;
	breachUntold?: boolean;
	waitersInOrder?: boolean;
	blockedForEver?: boolean;
}

export function withAdmissionBugs(kernel: Kernel, bugs: AdmissionBugs): Kernel {
	const { rules } = kernel;
	const changed = { ...rules };
	/** Every rule in which budgets and quotas admit something. */
	const admitThrough = (through: (tx: Tx, now: number) => Tx) => {
		changed.reserve = (tx, command, now) => rules.reserve(through(tx, now), command, now);
		changed.claim = (tx, command, now) => rules.claim(through(tx, now), command, now);
		changed.grant = (tx, command, now) => rules.grant(through(tx, now), command, now);
	};
	if (bugs.holdNotRepaired)
		changed.tick = (tx, command, now) =>
			rules.tick(isBeingAdmitted(tx, command.key) ? keepingGuards(tx) : tx, command, now);
	if (bugs.returnedTwice)
		changed.takeBack = (tx, command, now) => {
			countAgain(tx, command);
			return rules.takeBack(tx, command, now);
		};
	if (bugs.windowTrimmedEarly) admitThrough((tx, now) => reading(tx, halfWindow(now)));
	if (bugs.giveBackLost) changed.takeBack = () => ({ ok: true });
	if (bugs.settledUnheld)
		changed.settle = (tx, command, now) => rules.settle(reading(tx, heldFor(command)), command, now);
	if (bugs.usageKeyIgnored)
		changed.reportUsage = (tx, command, now) => rules.reportUsage(reading(tx, withoutUsageKeys), command, now);
	if (bugs.exhaustionIgnored) admitThrough(withoutExhaustion);
	if (bugs.breachUntold) changed.breach = () => ({ ok: true, told: [] });
	if (bugs.waitersInOrder) {
		admitThrough(withoutTurns);
		changed.settle = (tx, command, now) => rules.settle(withoutTurns(tx), command, now);
	}
	if (bugs.blockedForEver)
		changed.tick = (tx, command, now) =>
			isBlocked(tx, command.key) ? { ok: true, again: now + 500 } : rules.tick(tx, command, now);
	return { ...kernel, rules: changed };
}

/** Plants the bugs that are in the way room is estimated; returns how to take them out. */
export function plantInRoom(bugs: AdmissionBugs): () => void {
	const { take } = Room.prototype;
	const isOpen = Object.getOwnPropertyDescriptor(Room.prototype, "isOpen") as PropertyDescriptor;
	if (bugs.roomNotLookedAt) {
		Object.defineProperty(Room.prototype, "isOpen", { ...isOpen, get: () => true });
		Room.prototype.take = () => true;
	}
	if (bugs.stopsAtFirst) {
		const stuck = new WeakSet<Room>();
		Room.prototype.take = function (execution) {
			const isTaken = !stuck.has(this) && take.call(this, execution);
			if (!isTaken) stuck.add(this);
			return isTaken;
		};
	}
	return () => {
		Room.prototype.take = take;
		Object.defineProperty(Room.prototype, "isOpen", isOpen);
	};
}

const executionOf = (tx: Tx, key: string): ExecutionRecord | undefined =>
	isExecution(key) ? tx.get<ExecutionRecord>(key) : undefined;

const isBeingAdmitted = (tx: Tx, key: string): boolean => (executionOf(tx, key)?.hold?.until ?? 0) > 0;

const isBlocked = (tx: Tx, key: string): boolean =>
	/^blocked_by_(budget|quota)$/.test(executionOf(tx, key)?.eligibilityState ?? "");

/** Whatever is done here, budgets and quotas do not hear of it. */
const keepingGuards = (tx: Tx): Tx => {
	const isTold = (key: string) => !/^(outbox|hold|budget|quota|ledger|window):/.test(key);
	return bent(tx, {
		put: (key: string, record: object) => isTold(key) && tx.put(key, record),
		remove: (key: string) => isTold(key) && tx.remove(key),
	});
};

/** A slot that was given back comes back with every message that says so. */
function countAgain(tx: Tx, { guard, messages }: TakeBackCommand): void {
	const key = quotaKey(guard.namespace, guard.id);
	const quota = guard.kind === "quota" ? tx.get(key) : undefined;
	const again = messages.filter(({ holdId }) => !tx.get(holdKey(guard, holdId))).length;
	if (quota && quota.held > 0 && again > 0) tx.put(key, amend(quota, { held: Math.max(0, quota.held - again) }));
}

const halfWindow =
	(now: number): Misreading =>
	(key, record) => {
		const { rate, window } = (record ?? {}) as Partial<QuotaRecord>;
		if (!key.startsWith("quota:") || !rate || !window) return undefined;
		return { as: amend(record as QuotaRecord, { window: window.filter(([at]) => at > now - rate.windowMs / 2) }) };
	};

/** Whatever waits is taken to be held as the settlement says. */
const heldFor =
	({ settlements }: SettleCommand): Misreading =>
	(key, record) => {
		const { holdId } = settlements.find(({ executionId }) => executionId === key) ?? {};
		const { lifecyclePhase, grant } = (record ?? {}) as Partial<ExecutionRecord>;
		if (holdId === undefined || lifecyclePhase !== "runnable" || grant) return undefined;
		return { as: amend(record as ExecutionRecord, { hold: { id: holdId, until: 1, admittedAt: 0 } }) };
	};

const withoutUsageKeys: Misreading = (key) => (key.startsWith("usagekey:") ? { as: undefined } : undefined);

/** A report that was refused stays refused, and keeps nobody out. */
function withoutExhaustion(tx: Tx): Tx {
	const forget: Misreading = (key, record) =>
		record && key.startsWith("budget:") ? { as: amend(record as BudgetRecord, { exhausted: {} }) } : undefined;
	return writing(reading(tx, forget), (key, record) => {
		if (!key.startsWith("budget:")) return record;
		const { exhausted = {} } = tx.get<BudgetRecord>(key) ?? {};
		return amend(record as BudgetRecord, { exhausted });
	});
}

const withoutTurns = (tx: Tx): Tx =>
	writing(tx, (key, record) => (isExecution(key) ? amend(record as ExecutionRecord, { turn: 0 }) : record));
