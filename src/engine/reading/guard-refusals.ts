import { guardsToAsk } from "../../kernel/admission/guards.ts";
import { refusalNow } from "../../kernel/admission/refusal-now.ts";
import type { GuardRefusal } from "../../kernel/explaining.ts";
import { holdersQueue, ledgerQueue } from "../../kernel/placement.ts";
import { type BudgetRecord, budgetKey, type LedgerEntryRecord } from "../../kernel/records/budget.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { type GuardName, type GuardRecord, slotOfGuard } from "../../kernel/records/guard.ts";
import type { HoldRecord } from "../../kernel/records/hold.ts";
import { quotaKey } from "../../kernel/records/quota.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

/** Holders, or spenders, that are named. */
const NAMED = 3;

/** Which of its budgets and quotas would not admit an execution now, and because of whom. */
export async function guardRefusals(session: Session, execution: ExecutionRecord): Promise<GuardRefusal[]> {
	const found = await Promise.all(guardsToAsk(execution).map((guard) => refusalBy(session, guard, execution)));
	return found.filter((refusal) => refusal !== undefined);
}

async function refusalBy(
	session: Session,
	guard: GuardName,
	execution: ExecutionRecord,
): Promise<GuardRefusal | undefined> {
	const { kind, namespace, id } = guard;
	const runner = session.engine.runnerOfSlot(slotOfGuard(guard));
	const key: string = kind === "budget" ? budgetKey(namespace, id) : quotaKey(namespace, id);
	const [record] = await read<GuardRecord>(session, runner, [key]);
	const detail = refusalNow(guard, record, execution, runner.time.now());
	if (detail === undefined) return undefined;
	const queue =
		kind === "quota"
			? holdersQueue(guard)
			: ledgerQueue(namespace, id, (record as BudgetRecord | undefined)?.period ?? 0);
	const [{ entries }, { queues }] = await Promise.all([
		runner.ask((store, at) => store.first(at, queue, NAMED)),
		runner.ask((store, at) => store.queueSizes(at, queue)),
	]);
	const named = await read<HoldRecord | LedgerEntryRecord>(
		session,
		runner,
		entries.map((entry) => entry.key),
	);
	const holders = named.flatMap(({ executionId }) => (executionId === "" ? [] : [executionId]));
	// Another queue may begin like this one.
	const size = queues.find((each) => each.queue === queue)?.size ?? 0;
	return { detail, holders, more: Math.max(0, size - entries.length) };
}

async function read<R extends object>({ engine }: Session, runner: PartitionRunner, keys: string[]): Promise<R[]> {
	const { records } = await runner.ask((store, at) => store.read(at, keys));
	return records.flatMap(({ key, version, doc }) => {
		try {
			return version > 0 ? [engine.kernel.decode(key, doc) as R] : [];
		} catch (error) {
			engine.fault("a record cannot be read", error, key);
			return [];
		}
	});
}
