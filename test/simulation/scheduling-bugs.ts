import type { Kernel } from "../../src/kernel/kernel.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import { type LaneRecord, laneHomeKey } from "../../src/kernel/records/lane.ts";
import { amend } from "../../src/kernel/records/record.ts";
import type { TicketRecord } from "../../src/kernel/records/ticket.ts";
import type { Entry, Tx } from "../../src/kernel/tx.ts";
import { bent, isExecution, type Misreading, type Miswriting, reading, writing } from "./bent-tx.ts";
import { otherThan } from "./tenants.ts";

/** Bugs that rules about lanes, grants, workers, turns and tenants can have. */
export interface SchedulingBugs {
	grantAcceptedLate?: boolean;
	grantNeverLapses?: boolean;
	pauseNotSpread?: boolean;
	pausedGrantAccepted?: boolean;
	drainIgnored?: boolean;
	arrivalUnnoticed?: boolean;
	ticketLost?: boolean;
	turnNotTaken?: boolean;
	claimAcrossTenants?: boolean;
	pauseAcrossTenants?: boolean;
	releaseAcrossTenants?: boolean;
}

export function withSchedulingBugs(kernel: Kernel, bugs: SchedulingBugs): Kernel {
	const { rules } = kernel;
	const changed = { ...rules };
	if (bugs.grantAcceptedLate)
		changed.acceptGrant = (tx, command, now) => rules.acceptGrant(reading(tx, lastingGrant), command, now);
	if (bugs.grantNeverLapses)
		changed.tick = (tx, command, now) =>
			isGranted(tx, command.key) ? { ok: true, again: now + 500 } : rules.tick(tx, command, now);
	if (bugs.pauseNotSpread)
		changed.copyLane = (tx, command) =>
			command.state === "paused" && !tx.get(laneHomeKey(command.namespace, command.lane))
				? { ok: true, revision: command.revision }
				: rules.copyLane(tx, command);
	if (bugs.pausedGrantAccepted)
		changed.acceptGrant = (tx, command, now) => rules.acceptGrant(reading(tx, withoutLane), command, now);
	if (bugs.drainIgnored) changed.create = (tx, command, now) => rules.create(reading(tx, withoutLane), command, now);
	if (bugs.arrivalUnnoticed) {
		changed.registerWorker = (tx, command, now) => ({ ...rules.registerWorker(tx, command, now), hasArrived: false });
		changed.beat = (tx, command, now) => {
			const outcome = rules.beat(tx, command, now);
			return outcome.ok ? { ok: true, seen: outcome.seen.map((seen) => ({ ...seen, hasArrived: false })) } : outcome;
		};
	}
	if (bugs.ticketLost) changed.create = (tx, command, now) => rules.create(writing(tx, withoutTicket), command, now);
	if (bugs.turnNotTaken) changed.claim = (tx, command, now) => rules.claim(writing(tx, withoutTurn), command, now);
	if (bugs.claimAcrossTenants)
		changed.claim = (tx, command, now) => rules.claim(ofBothTenants(tx, command.namespace), command, now);
	if (bugs.pauseAcrossTenants)
		changed.claim = (tx, command, now) => rules.claim(reading(tx, pausedAnywhere), command, now);
	if (bugs.releaseAcrossTenants)
		changed.unblock = (tx, command, now) => {
			rules.unblock(tx, { ...command, queue: ofOtherTenant(command.queue) }, now);
			return rules.unblock(tx, command, now);
		};
	return { ...kernel, rules: changed };
}

const lastingGrant: Misreading = (key, record) => {
	const { grant } = (record ?? {}) as Partial<ExecutionRecord>;
	if (!isExecution(key) || !grant) return undefined;
	return { as: amend(record as ExecutionRecord, { grant: { ...grant, expiresAt: Number.MAX_SAFE_INTEGER } }) };
};

const isGranted = (tx: Tx, key: string): boolean => isExecution(key) && !!tx.get<ExecutionRecord>(key)?.grant;

const withoutLane: Misreading = (key) => (key.startsWith("lane:") ? { as: undefined } : undefined);

const pausedAnywhere: Misreading = (key, record, tx) => {
	if (!key.startsWith("lane:")) return undefined;
	const [, namespace = "", lane] = key.split(":");
	const other = tx.get<LaneRecord>(`lane:${otherThan(namespace)}:${lane}`);
	return { as: other?.state === "paused" ? other : record };
};

const withoutTicket: Miswriting = (key, record) => (key.startsWith("ticket:") ? null : record);

const withoutTurn: Miswriting = (key, record, tx) => {
	const before = key.startsWith("ticket:") ? tx.get<TicketRecord>(key) : undefined;
	return before ? amend(record as TicketRecord, { turnAt: before.turnAt }) : record;
};

/** Names of queues have their namespace second, those of blocked work behind the cause. */
function ofOtherTenant(queue: string): string {
	const parts = queue.split(",");
	const at = parts[0] === "blocked" ? 2 : 1;
	return parts.with(at, otherThan(parts[at] ?? "")).join(",");
}

/** Every queue is also the other tenant's of the same name, and all that stands in either is this one's. */
function ofBothTenants(tx: Tx, namespace: string): Tx {
	const first = (queue: string, count: number): Entry[] =>
		[...tx.first(queue, count), ...tx.first(ofOtherTenant(queue), count)]
			.sort((a, b) => a.score - b.score)
			.slice(0, count);
	const get = (key: string) => {
		const record = tx.get<ExecutionRecord>(key);
		return record && isExecution(key) ? amend(record, { namespace }) : record;
	};
	return bent(tx, { first, get, getReadable: get });
}
