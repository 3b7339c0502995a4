import type { ListedQuota, QuotaView } from "../../contract/replies.ts";
import { countedAt, straddling } from "../../kernel/admission/window-count.ts";
import { makeId, trustedSlot } from "../../kernel/ids.ts";
import { holdersQueue } from "../../kernel/placement.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import { type HoldRecord, holdSubject } from "../../kernel/records/hold.ts";
import { type QuotaRecord, type WindowChunkRecord, windowChunkKey } from "../../kernel/records/quota.ts";
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
	const grants = await grantedUnder(session, holds);
	const holders = holds.map(({ holdId, hold: { executionId, since } }) =>
		grants.has(holdId) ? { executionId, grantId: grantIdOf(holdId), since } : { executionId, leaseId: holdId, since },
	);
	const size = entries.length < MOST_HOLDERS ? entries.length : await sizeOf(runner, queue);
	return { holders, holdersMore: Math.max(0, size - entries.length) };
}

/** Those of the holds whose execution is granted and not leased yet. */
async function grantedUnder(
	session: Session,
	holds: readonly { holdId: string; hold: HoldRecord }[],
): Promise<ReadonlySet<string>> {
	const asked = new Map<PartitionRunner, Map<string, string>>();
	for (const { holdId, hold } of holds) {
		if (!hold.isGrant) continue;
		const runner = session.runnerOf(hold.executionId);
		const keys = asked.get(runner) ?? new Map<string, string>();
		asked.set(runner, keys.set(executionKey(hold.executionId), holdId));
	}
	const granted = new Set<string>();
	await Promise.all(
		[...asked].map(async ([runner, keys]) => {
			const { records } = await runner.ask((store, partition) => store.read(partition, [...keys.keys()]));
			for (const stored of records) {
				const record = stored.version > 0 ? session.decodeReadable<ExecutionRecord>(stored) : undefined;
				const holdId = keys.get(stored.key);
				if (record?.lease?.id !== holdId && holdId !== undefined) granted.add(holdId);
			}
		}),
	);
	return granted;
}

/** A grant's id has the uuid of the lease it will be. */
const grantIdOf = (holdId: string): string =>
	makeId("gr", holdId.slice("le_".length, holdId.lastIndexOf("_")), trustedSlot(holdId));

async function sizeOf(runner: PartitionRunner, name: string): Promise<number> {
	const { queues } = await runner.ask((store, partition) => store.queueSizes(partition, name));
	return queues.find(({ queue }) => queue === name)?.size ?? 0;
}
