import { type Command, type Kernel, kernel } from "../../src/kernel/kernel.ts";
import { type Outcome, refuse } from "../../src/kernel/outcome.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { Key } from "../../src/kernel/records/record.ts";
import type { Tx } from "../../src/kernel/tx.ts";

/**
 * Rules that exist only here, for what the real ones do not exercise yet: a scan that must be complete, a record that
 * every command writes, and one that is removed and made again.
 */

export interface Journal {
	/** The newest tokens, oldest first. */
	tokens: string[];
}

export interface Group {
	members: number;
	closed: boolean;
	counted: number;
}

const KEEP_TOKENS = 64;

export const journalKey = (name: string): Key<Journal> => `journal:${name}`;
/** Written with every reset, so that whoever watches commits can tell one from a lost write. */
export const resetsKey = (name: string): Key<{ count: number }> => `resets:${name}`;
export const groupKey = (name: string): Key<Group> => `group:${name}`;
const memberKey = (group: string, token: string): Key<{ group: string }> => `member:${group}:${token}`;
const membersQueue = (group: string): string => `members,${group}`;

export interface TestCommand {
	op: "writeJournal" | "resetJournal" | "joinGroup" | "touchGroup" | "closeGroup" | "countGroup";
	name: string;
	token: string;
}

/** An engine takes it like any other; only the compiler does not know its rule. */
export const asCommand = (command: TestCommand): Command => command as unknown as Command;

function writeJournal(tx: Tx, { name, token }: TestCommand): Outcome {
	const { tokens } = tx.get(journalKey(name)) ?? { tokens: [] };
	tx.put(journalKey(name), { tokens: [...tokens, token].slice(-KEEP_TOKENS) });
	return { ok: true };
}

function resetJournal(tx: Tx, { name }: TestCommand): Outcome {
	const resets = tx.get(resetsKey(name)) ?? { count: 0 };
	tx.put(resetsKey(name), { count: resets.count + 1 });
	if (tx.get(journalKey(name))) tx.remove(journalKey(name));
	return { ok: true };
}

function joinGroup(tx: Tx, { name, token }: TestCommand): Outcome {
	const group = tx.get(groupKey(name)) ?? { members: 0, closed: false, counted: 0 };
	if (group.closed) return refuse("execution_not_active", { name });
	tx.put(groupKey(name), { ...group, members: group.members + 1 });
	tx.put(memberKey(name, token), { group: name });
	return { ok: true };
}

/** Writes the guard and adds nothing. */
function touchGroup(tx: Tx, { name }: TestCommand): Outcome {
	tx.put(groupKey(name), { ...(tx.get(groupKey(name)) ?? { members: 0, closed: false, counted: 0 }) });
	return { ok: true };
}

/** Counts by scanning; the guard is what makes the scan complete. */
const closeGroup =
	(guard: (name: string) => Key<object>) =>
	(tx: Tx, { name }: TestCommand): Outcome => {
		const counted = tx.all(membersQueue(name), guard(name)).length;
		tx.put(groupKey(name), { members: counted, closed: true, counted });
		return { ok: true };
	};

/** Counts a group that is open; `members` is how many its own record says there are. */
const countGroup =
	(guard: (name: string) => Key<object>) =>
	(tx: Tx, { name }: TestCommand): CountOutcome => ({
		ok: true,
		counted: tx.all(membersQueue(name), guard(name)).length,
		members: tx.get(groupKey(name))?.members ?? 0,
	});

export type CountOutcome = Outcome<{ counted: number; members: number }>;

/** Bugs the rules or the way they are run can have. */
export interface KernelBugs {
	guardIgnored?: boolean;
	unknownFieldsDropped?: boolean;
	nestedFieldsDropped?: boolean;
	fenceSkipped?: boolean;
	placementDropped?: boolean;
	idempotencyKeyLost?: boolean;
	claimRequestLost?: boolean;
	grantRequestLost?: boolean;
	deadEnginesLive?: boolean;
}

export function simulatedKernel(bugs: KernelBugs): Kernel {
	const { rules } = kernel;
	const guardOf = (name: string): Key<object> => (bugs.guardIgnored ? `unrelated:${name}` : groupKey(name));
	return {
		rules: {
			...rules,
			...{
				writeJournal,
				resetJournal,
				joinGroup,
				touchGroup,
				countGroup: countGroup(guardOf),
				closeGroup: closeGroup(guardOf),
			},
			...(bugs.fenceSkipped
				? { complete: (tx, command, now) => rules.complete(tx, withLiveFence(tx, command), now) }
				: undefined),
			...(bugs.idempotencyKeyLost
				? { create: (tx, command, now) => rules.create(withoutPuts(tx, "key:"), command, now) }
				: undefined),
			...(bugs.deadEnginesLive
				? { announce: (tx, command, now) => withoutEnd(rules.announce(tx, command, now)) }
				: undefined),
			...(bugs.claimRequestLost
				? { claim: (tx, command, now) => rules.claim(withoutPuts(tx, "claim:"), command, now) }
				: undefined),
			...(bugs.grantRequestLost
				? { grant: (tx, command, now) => rules.grant(withoutPuts(tx, "claim:"), command, now) }
				: undefined),
		},
		placement(key, record) {
			if (key.startsWith("member:")) return [{ queue: membersQueue((record as { group: string }).group), score: 0 }];
			const places = kernel.placement(key, record);
			const { reclaims } = record as { reclaims?: number };
			return bugs.placementDropped && reclaims === 1
				? places.filter(({ queue }) => !queue.startsWith("eligible,"))
				: places;
		},
		isBusy: kernel.isBusy,
		startsWork: kernel.startsWork,
		decode(key, doc) {
			const record = kernel.decode(key, doc);
			if (bugs.unknownFieldsDropped) dropUnknown(record);
			if (bugs.nestedFieldsDropped) dropNested(record);
			return record;
		},
	};
}

/** An execution keeps what it does not know apart; other records have it among their fields. */
function dropUnknown(record: { unknown?: object | null; fromLaterVersion?: string }): void {
	if (record.unknown) record.unknown = null;
	delete record.fromLaterVersion;
}

/** What is written by hand has what it does not know apart, in each of its parts. */
function dropNested({ attempt, lease, lastLease }: Partial<ExecutionRecord>): void {
	for (const part of [attempt, lease, lastLease]) delete part?.unknown;
}

function withLiveFence(tx: Tx, command: Parameters<Kernel["rules"]["complete"]>[1]) {
	const record = tx.get<{ lease: { id: string; epoch: number } | null }>(command.executionId);
	return record?.lease ? { ...command, fence: { leaseId: record.lease.id, epoch: record.lease.epoch } } : command;
}

function withoutPuts(tx: Tx, prefix: string): Tx {
	return new Proxy(tx, {
		get(target, name) {
			if (name === "put") return (key: string, record: object) => key.startsWith(prefix) || target.put(key, record);
			const member = Reflect.get(target, name) as unknown;
			return typeof member === "function" ? member.bind(target) : member;
		},
	});
}

function withoutEnd(outcome: ReturnType<Kernel["rules"]["announce"]>) {
	if (!outcome.ok) return outcome;
	const ids = Object.entries(outcome.engines).map(([id, seen]) => [id, { ...seen, until: Number.MAX_SAFE_INTEGER }]);
	return { ...outcome, engines: Object.fromEntries(ids) };
}
