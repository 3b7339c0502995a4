import { kernel } from "../../src/kernel/kernel.ts";
import {
	BUDGET_PREFIX,
	type BudgetRecord,
	LEDGER_PREFIX,
	type LedgerEntryRecord,
	USAGE_KEY_PREFIX,
	type UsageKeyRecord,
} from "../../src/kernel/records/budget.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { GuardKind } from "../../src/kernel/records/guard.ts";
import { HOLD_PREFIX, type HoldRecord } from "../../src/kernel/records/hold.ts";
import { OUTBOX_PREFIX } from "../../src/kernel/records/outbox.ts";
import { QUOTA_PREFIX, type QuotaRecord } from "../../src/kernel/records/quota.ts";
import type { Unit } from "../../src/store/port.ts";
import { BudgetWatch } from "./budget-watch.ts";
import type { IntermediateStates } from "./intermediate-states.ts";
import { Lasting } from "./lasting.ts";
import { QuotaWatch } from "./quota-watch.ts";
import type { SimPartition } from "./sim-store.ts";
import { Violation } from "./violation.ts";
import type { GuardChange } from "./watched-guard.ts";
import type { World } from "./world.ts";

type AnyWatch = BudgetWatch | QuotaWatch;
type AnyChange = GuardChange<BudgetRecord> & GuardChange<QuotaRecord>;

/** A hold may last this long, be given back by a message that is sent again, by an engine that takes over. */
const HOLD_MS = 5000;
const SEND_AGAIN_MS = 2000;
const TAKE_OVER_MS = 3000;
const PATIENCE_MS = 1500;
const ORPHANED_MS = HOLD_MS + SEND_AGAIN_MS + TAKE_OVER_MS + PATIENCE_MS;
/** What waits is looked at again within this long, whoever was to do it. */
const RELEASED_MS = 2 * SEND_AGAIN_MS + TAKE_OVER_MS + PATIENCE_MS;
const MARK_MS = 60_000;

/** Sees to it that budgets and quotas admit no more than they may, and get back what they gave. */
export class GuardWatch {
	readonly #world: World;
	readonly #intermediate: IntermediateStates;
	readonly #guards = new Map<string, AnyWatch>();
	readonly #executions = new Map<string, ExecutionRecord>();
	/** The moment from which an execution has its hold. */
	readonly #heldSince = new Map<string, number>();
	/** Holds of those who run or have a grant, by quota. */
	readonly #live = new Map<string, Set<string>>();
	/** Quotas that somebody more runs by since they were looked at. */
	readonly #joined = new Set<string>();
	readonly #leased = new Set<string>();
	readonly #outbox = new Set<string>();
	readonly #lasting = new Lasting();
	/** Told of what came up. */
	onSeen: ((what: string) => void) | undefined;

	constructor(world: World, intermediate: IntermediateStates) {
		this.#world = world;
		this.#intermediate = intermediate;
	}

	budget(namespace: string, id: string): BudgetRecord | undefined {
		return this.#guards.get(`budget ${namespace},${id}`)?.record as BudgetRecord | undefined;
	}

	quota(namespace: string, id: string): QuotaRecord | undefined {
		return this.#guards.get(`quota ${namespace},${id}`)?.record as QuotaRecord | undefined;
	}

	/** Which budget of this name it is: one more with every one that was deleted. */
	lifeOf(namespace: string, id: string): number {
		return this.#guards.get(`budget ${namespace},${id}`)?.life ?? 0;
	}

	/** How many hold something of a budget or quota. */
	holdersOf(kind: GuardKind, namespace: string, id: string): number {
		return this.#guards.get(`${kind} ${namespace},${id}`)?.holds.size ?? 0;
	}

	/** A unit is about to be applied; `executions` are those it writes. */
	observe(partition: SimPartition, unit: Unit, docs: ReadonlyMap<string, string>): void {
		const changes = new Map<AnyWatch, AnyChange>();
		const changeOf = (guard: AnyWatch): AnyChange => {
			const known = changes.get(guard);
			if (known) return known;
			const made: AnyChange = { states: [], taken: new Map(), returned: new Set() };
			changes.set(guard, made);
			return made;
		};
		for (const key of unit.removed) this.#wrote(partition, key, undefined, docs.get(key), changeOf);
		for (const { key, doc } of unit.put) this.#wrote(partition, key, doc, docs.get(key), changeOf);
		for (const [guard, change] of changes) {
			if (change.states.length === 0) change.states.push(guard.record as never);
			guard.changed(change, this.#world.moment, (holdId) => this.#leased.has(holdId));
			if (change.taken.size > 0) this.onSeen?.(`admitted by a ${guard.kind}`);
			if (change.returned.size > 0) this.onSeen?.(`given back to a ${guard.kind}`);
		}
	}

	#wrote(
		partition: SimPartition,
		key: string,
		doc: string | undefined,
		before: string | undefined,
		changeOf: (guard: AnyWatch) => AnyChange,
	): void {
		const prefix = key.slice(0, key.indexOf(":") + 1);
		const [namespace = "", id = "", ...rest] = key.slice(prefix.length).split(",");
		const record = doc === undefined ? undefined : kernel.decode(key, doc);
		switch (prefix) {
			case BUDGET_PREFIX:
			case QUOTA_PREFIX: {
				const kind = prefix === BUDGET_PREFIX ? "budget" : "quota";
				const between = doc === undefined ? [] : this.#intermediate.between(key, before, doc);
				const states = [before, ...between].map((text) => (text === undefined ? undefined : kernel.decode(key, text)));
				changeOf(this.#guard(partition, kind, namespace, id)).states.push(...([...states, record] as never[]));
				return;
			}
			case HOLD_PREFIX: {
				const guard = this.#guard(partition, rest[0] as GuardKind, namespace, id);
				const change = changeOf(guard);
				guard.wrote(rest[1] ?? "", record as HoldRecord | undefined, change as never);
				return;
			}
			case LEDGER_PREFIX: {
				const budget = this.#guard(partition, "budget", namespace, id) as BudgetWatch;
				changeOf(budget);
				if (record) budget.ledger.set(rest.join(","), record as LedgerEntryRecord);
				else budget.ledger.delete(rest.join(","));
				return;
			}
			case USAGE_KEY_PREFIX: {
				const budget = this.#guard(partition, "budget", namespace, id) as BudgetWatch;
				if (record) budget.keyed(rest.join(","), record as UsageKeyRecord);
				return;
			}
			case OUTBOX_PREFIX:
				if (record) this.#outbox.add(key);
				else this.#outbox.delete(key);
				return;
		}
	}

	#guard(partition: SimPartition, kind: GuardKind, namespace: string, id: string): AnyWatch {
		const name = `${kind} ${namespace},${id}`;
		const known = this.#guards.get(name);
		if (known) return known;
		const made = kind === "budget" ? new BudgetWatch(name, partition) : new QuotaWatch(name, partition);
		this.#guards.set(name, made);
		return made;
	}

	/** An execution as it is after a unit, judged when all of the unit is known. */
	judge(id: string, next: ExecutionRecord | undefined): void {
		const before = this.#executions.get(id);
		const isGuarded = next !== undefined && next.budgets.length + next.quotas.length > 0;
		if (!before && !isGuarded) return;
		if (next) this.#executions.set(id, next);
		else this.#executions.delete(id);
		const hold = next?.hold;
		if (hold && before?.hold?.id !== hold.id) this.#heldSince.set(hold.id, this.#world.moment);
		if (next?.lease && hold) this.#leased.add(hold.id);
		if (next?.kept && !before?.kept) this.onSeen?.("slots kept over a suspension");
		const { namespace, quotas } = (before ?? next) as ExecutionRecord;
		for (const quota of quotas) this.#follow(`quota ${namespace},${quota}`, slotOf(before, quota), slotOf(next, quota));
		if (next && liveHold(next) !== undefined && liveHold(next) !== (before && liveHold(before)))
			this.#checkAdmitted(next, hold?.id ?? "");
	}

	/** Somebody runs, or may begin to, by another slot of a quota than before. */
	#follow(name: string, was: string | undefined, is: string | undefined): void {
		if (was === is) return;
		const live = this.#live.get(name) ?? new Set();
		this.#live.set(name, live);
		if (was !== undefined) live.delete(was);
		if (is === undefined) return;
		live.add(is);
		this.#joined.add(name);
	}

	/** All executions of a unit are known: in one unit some may have made room for others. */
	checkLive(): void {
		for (const name of this.#joined)
			(this.#guards.get(name) as QuotaWatch | undefined)?.checkLive(this.#live.get(name) ?? new Set());
		this.#joined.clear();
	}

	/** Whatever runs was admitted by all it names that was there before it was held for that, and none has taken it back. */
	#checkAdmitted(execution: ExecutionRecord, holdId: string): void {
		const { id } = execution;
		const since = this.#heldSince.get(holdId) ?? this.#world.moment;
		const times: number[] = [];
		const names = namesOf(execution).filter((name) => !keptSlots(execution).some((kept) => kept.name === name));
		for (const name of names) {
			const guard = this.#guards.get(name);
			if (!guard?.record || guard.since >= since) continue;
			if (!guard.hasAdmitted(holdId))
				throw new Violation(`${id} runs under ${holdId}, and ${name} never admitted that`);
			if (guard.hasTakenBack(holdId))
				throw new Violation(`${id} runs under ${holdId}, and ${name} has taken that back`);
			times.push(guard.holds.get(holdId)?.since ?? 0);
		}
		const admittedAt = execution.hold?.admittedAt ?? 0;
		if (times.length > 0 && times.length === names.length && admittedAt !== Math.max(...times))
			throw new Violation(`${id} was admitted at ${times}, and says ${admittedAt}`);
	}

	/** In calm, again and again: what is given back, and what waits without a cause, is seen to in time. */
	checkCalm(partitions: readonly SimPartition[], isDisturbed: boolean): void {
		if (isDisturbed) return this.#lasting.clear();
		this.#lasting.begin(partitions);
		for (const { name, holds } of this.#guards.values()) {
			for (const [holdId, { executionId }] of holds)
				if (!hasHold(this.#executions.get(executionId), name, holdId))
					this.#lasting.note(`${name} is held by ${holdId} of ${executionId}, which has it no more`, ORPHANED_MS);
		}
		const open = new Set([...this.#executions.values()].flatMap((each) => (mayBeAdmitted(each) ? namesOf(each) : [])));
		for (const execution of this.#executions.values()) {
			const name = waitsFor(execution);
			if (name === undefined || open.has(name) || this.#guards.get(name)?.hasRoom(execution) === false) continue;
			this.#lasting.note(`${execution.id} waits for ${name}, which has room`, RELEASED_MS);
		}
		this.#lasting.end();
	}

	/** All has ended, and time has passed: nothing is held, and nothing is left to be told. */
	checkAtRest(): void {
		for (const guard of this.#guards.values()) {
			const [holdId] = guard.holds.keys();
			if (holdId !== undefined) throw new Violation(`all has ended, and ${guard.name} is held by ${holdId}`);
			const { held = 0, reserved = {} } = (guard.record ?? {}) as Partial<QuotaRecord & BudgetRecord>;
			if (held > 0) throw new Violation(`all has ended, and ${guard.name} counts ${held} slots as held`);
			if (Object.keys(reserved).length > 0)
				throw new Violation(`all has ended, and ${guard.name} has ${JSON.stringify(reserved)} promised`);
			for (const [mark, at] of guard.marks)
				if (at + MARK_MS + PATIENCE_MS < guard.time)
					throw new Violation(
						`${guard.name} still knows that ${mark} was given back at ${at}, now it is ${guard.time}`,
					);
		}
		const [message] = this.#outbox;
		if (message !== undefined) throw new Violation(`all has ended, and ${message} was not sent`);
	}
}

/** The hold of an execution that runs, or that a grant is given for. */
const liveHold = ({ hold, lease, grant }: ExecutionRecord): string | undefined =>
	hold && (lease || grant) ? hold.id : undefined;

/** Slots of quotas that an execution kept when it was suspended. */
const keptSlots = ({ kept, namespace }: ExecutionRecord): { name: string; holdId: string }[] =>
	(kept ?? []).map(({ quota, holdId }) => ({ name: `quota ${namespace},${quota}`, holdId }));

/** The slot of a quota by which an execution runs, or may begin to. */
function slotOf(execution: ExecutionRecord | undefined, quota: string): string | undefined {
	const live = execution && liveHold(execution);
	return live && (execution.kept?.find((kept) => kept.quota === quota)?.holdId ?? live);
}

const hasHold = (execution: ExecutionRecord | undefined, name: string, holdId: string): boolean =>
	execution !== undefined &&
	(execution.hold?.id === holdId || keptSlots(execution).some((kept) => kept.name === name && kept.holdId === holdId));

const mayBeAdmitted = ({ lifecyclePhase, eligibilityState, lease, grant }: ExecutionRecord): boolean =>
	lifecyclePhase === "runnable" && eligibilityState === "eligible_now" && !lease && !grant;

const namesOf = ({ namespace, budgets, quotas }: ExecutionRecord): string[] => [
	...budgets.map((id) => `budget ${namespace},${id}`),
	...quotas.map((id) => `quota ${namespace},${id}`),
];

function waitsFor(execution: ExecutionRecord): string | undefined {
	const { lifecyclePhase, eligibilityState, namespace, blockedOn, suspension } = execution;
	if (suspension?.budget !== undefined) return `budget ${namespace},${suspension.budget}`;
	if (lifecyclePhase !== "runnable") return undefined;
	if (eligibilityState === "blocked_by_budget") return `budget ${namespace},${blockedOn}`;
	if (eligibilityState === "blocked_by_quota") return `quota ${namespace},${blockedOn}`;
	return undefined;
}
