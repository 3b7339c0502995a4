import type { ListedQuota, QuotaView } from "../../contract/replies.ts";
import { countedAt, straddling } from "../../kernel/admission/window-count.ts";
import { makeId, trustedSlot } from "../../kernel/ids.ts";
import { holdersQueue } from "../../kernel/placement.ts";
import { type ExecutionRecord, executionKey, partsOf } from "../../kernel/records/execution.ts";
import { type HoldRecord, holdSubject } from "../../kernel/records/hold.ts";
import { type QuotaRecord, type WindowChunkRecord, windowChunkKey } from "../../kernel/records/quota.ts";
import { type SuspensionRecord, suspensionKey } from "../../kernel/records/suspension.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

const MOST_HOLDERS = 100;

/** A quota as callers see it, at the time its partition says. */
export async function listedQuota(
	session: Session,
	runner: PartitionRunner,
	quota: QuotaRecord,
	waiting: number,
): Promise<ListedQuota> {
	const { id, namespace, rate, concurrency, held, holdWhileSuspended, jitterMs, createdAt } = quota;
	return {
		id,
		namespace,
		...(rate ? { rate: { ...rate, counted: await counted(session, runner, quota) } } : undefined),
		...(concurrency > 0 ? { concurrency: { max: concurrency, held } } : undefined),
		holdWhileSuspended,
		jitterMs,
		waiting,
		createdAt,
	};
}

async function counted(session: Session, runner: PartitionRunner, quota: QuotaRecord): Promise<number> {
	const now = runner.time.now();
	const chunk = straddling(quota, now);
	if (!chunk) return countedAt(quota, [], now);
	const key = windowChunkKey(quota.namespace, quota.id, chunk.number);
	const { records } = await runner.ask((store, partition) => store.read(partition, [key]));
	const [stored] = records;
	const found = stored && stored.version > 0 ? session.decodeReadable<WindowChunkRecord>(stored) : undefined;
	return countedAt(quota, found?.entries ?? [], now);
}

/** Who holds a quota's slots, longest first, and how many more there are. */
export async function holdersOf(
	session: Session,
	runner: PartitionRunner,
	{ namespace, id }: QuotaRecord,
): Promise<Pick<QuotaView, "holders" | "holdersMore">> {
	const queue = holdersQueue({ kind: "quota", namespace, id });
	const { entries } = await runner.ask((store, partition) => store.first(partition, queue, MOST_HOLDERS));
	if (entries.length === 0) return { holders: [], holdersMore: 0 };
	const keys = entries.map(({ key }) => key);
	const { records } = await runner.ask((store, partition) => store.read(partition, keys));
	const holds = records.flatMap((stored) => {
		const hold = stored.version > 0 ? session.decodeReadable<HoldRecord>(stored) : undefined;
		return hold && hold.givenBackAt === 0 ? [{ holdId: holdSubject(stored.key).holdId, hold }] : [];
	});
	const executions = await executionsOf(session, holds);
	const holders = await Promise.all(
		holds.map(async ({ holdId, hold: { executionId, since, isGrant } }) => {
			const execution = executions.get(executionId);
			return { executionId, ...(await heldBy(session, execution, holdId, isGrant)), since };
		}),
	);
	const size = entries.length < MOST_HOLDERS ? entries.length : await sizeOf(runner, queue);
	return { holders, holdersMore: Math.max(0, size - entries.length) };
}

/** By what an execution holds a slot: its lease, a grant, or the suspension that keeps it for the lease to come. */
async function heldBy(
	session: Session,
	execution: ExecutionRecord | undefined,
	holdId: string,
	isGrant: boolean,
): Promise<{ leaseId: string } | { grantId: string } | { suspensionId: string }> {
	if (!execution) return isGrant ? { grantId: grantIdOf(holdId) } : { leaseId: holdId };
	const { lease, grant, suspension, kept } = execution;
	if (!kept?.some((slot) => slot.holdId === holdId))
		return isGrant && lease?.id !== holdId ? { grantId: grantIdOf(holdId) } : { leaseId: holdId };
	if (suspension) return { suspensionId: suspension.id };
	if (lease) return { leaseId: lease.id };
	if (grant) return { grantId: grant.id };
	// It was resumed and waits for the lease that takes the slot over.
	return { suspensionId: await lastSuspensionOf(session, execution) };
}

async function lastSuspensionOf(session: Session, execution: ExecutionRecord): Promise<string> {
	const key = suspensionKey(execution.id, partsOf(execution).suspensions);
	const { records } = await session.runnerOf(execution.id).ask((store, partition) => store.read(partition, [key]));
	const [stored] = records;
	return (stored && stored.version > 0 && session.decodeReadable<SuspensionRecord>(stored)?.id) || "";
}

async function executionsOf(
	session: Session,
	holds: readonly { hold: HoldRecord }[],
): Promise<ReadonlyMap<string, ExecutionRecord>> {
	const asked = new Map<PartitionRunner, Set<string>>();
	for (const { hold } of holds) {
		const runner = session.runnerOf(hold.executionId);
		asked.set(runner, (asked.get(runner) ?? new Set()).add(executionKey(hold.executionId)));
	}
	const executions = new Map<string, ExecutionRecord>();
	await Promise.all(
		[...asked].map(async ([runner, keys]) => {
			const { records } = await runner.ask((store, partition) => store.read(partition, [...keys]));
			for (const stored of records) {
				const record = stored.version > 0 ? session.decodeReadable<ExecutionRecord>(stored) : undefined;
				if (record) executions.set(record.id, record);
			}
		}),
	);
	return executions;
}

/** A grant's id has the uuid of the lease it will be. */
const grantIdOf = (holdId: string): string =>
	makeId("gr", holdId.slice("le_".length, holdId.lastIndexOf("_")), trustedSlot(holdId));

async function sizeOf(runner: PartitionRunner, name: string): Promise<number> {
	const { queues } = await runner.ask((store, partition) => store.queueSizes(partition, name));
	return queues.find(({ queue }) => queue === name)?.size ?? 0;
}
