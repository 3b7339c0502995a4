import type { BudgetView, LedgerPage } from "../../contract/replies.ts";
import { asOf } from "../../kernel/admission/budget-period.ts";
import { dimensionsOf } from "../../kernel/admission/dimensions.ts";
import { ledgerQueue } from "../../kernel/placement.ts";
import type { BudgetRecord, LedgerEntryRecord } from "../../kernel/records/budget.ts";
import { type HoldRecord, holdKey } from "../../kernel/records/hold.ts";
import type { QueuePosition } from "../../store/port.ts";
import type { Session } from "../calls/session.ts";
import { runnerOfGuard } from "./guard-listing.ts";

/** Entries of a ledger read at a time, each with the reservation it leads to. */
const READ_AT_ONCE = 250;

/** A budget as callers see it, at a time: a period that is over is over, whether or not anything was written. */
export function budgetView(stored: BudgetRecord, waiting: number, now: number): BudgetView {
	const budget = asOf(stored, now);
	const { id, namespace, onHard, labels, resets, lastBreachAt, lastBreachDimension, nextResetAt } = budget;
	return {
		id,
		namespace,
		dimensions: Object.fromEntries(dimensionsOf(budget).map((name) => [name, dimensionView(budget, name)])),
		...(resets ? { resetEvery: resets.every } : undefined),
		onHard,
		labels: { ...labels },
		waiting,
		breachCount: budget.breachCount,
		softBreachCount: budget.softBreachCount,
		...(lastBreachAt > 0 ? { lastBreachAt, lastBreachDimension } : undefined),
		...(nextResetAt > 0 ? { nextResetAt } : undefined),
		createdAt: budget.createdAt,
	};
}

function dimensionView({ dimensions, used, reserved, exhausted }: BudgetRecord, name: string) {
	const { hard, soft } = dimensions[name] ?? {};
	return {
		used: used[name] ?? 0,
		reserved: reserved[name] ?? 0,
		...(hard === undefined ? undefined : { hard }),
		...(soft === undefined ? undefined : { soft }),
		exhausted: exhausted[name] !== undefined,
	};
}

/** Some of the ledger of a budget in this period, behind a position; `next` is where it goes on. */
export async function readLedger(
	session: Session,
	stored: BudgetRecord,
	limit: number,
	after: QueuePosition | undefined,
): Promise<{ entries: LedgerPage["entries"]; next?: QueuePosition }> {
	const guard = { kind: "budget", namespace: stored.namespace, id: stored.id } as const;
	const runner = runnerOfGuard(session, guard);
	const { period } = asOf(stored, runner.time.now());
	const queue = ledgerQueue(guard.namespace, guard.id, period);
	const { entries: places } = await runner.ask((store, partition) => store.first(partition, queue, limit + 1, after));
	const wanted = places.slice(0, limit);
	const entries: LedgerPage["entries"] = [];
	for (let from = 0; from < wanted.length; from += READ_AT_ONCE) {
		const keys = wanted.slice(from, from + READ_AT_ONCE).map(({ key }) => key);
		const found = await runner.ask((store, partition) => store.read(partition, keys));
		const records = found.records.flatMap((each) => {
			const entry = each.version > 0 ? session.decodeReadable<LedgerEntryRecord>(each) : undefined;
			return entry && entry.period === period ? [entry] : [];
		});
		const holdKeys = records.flatMap(({ holdId }) => (holdId === "" ? [] : [holdKey(guard, holdId)]));
		const holds = new Map<string, HoldRecord | undefined>();
		if (holdKeys.length > 0) {
			const held = await runner.ask((store, partition) => store.read(partition, holdKeys));
			for (const each of held.records) {
				holds.set(each.key, each.version > 0 ? session.decodeReadable<HoldRecord>(each) : undefined);
			}
		}
		for (const entry of records) entries.push(entryView(entry, holds.get(holdKey(guard, entry.holdId))));
	}
	const last = wanted.at(-1);
	return { entries, ...(last && places.length > limit ? { next: last } : undefined) };
}

function entryView({ executionId, dims, reportedAt }: LedgerEntryRecord, hold: HoldRecord | undefined) {
	const reserved = hold?.reserved;
	return {
		...(executionId === "" ? undefined : { executionId }),
		dims: { ...dims },
		...(reserved && Object.keys(reserved).length > 0 ? { reserved: { ...reserved } } : undefined),
		reportedAt,
	};
}
