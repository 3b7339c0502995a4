import type { OpenedWaitpoint, WaitpointView } from "../../contract/replies.ts";
import { waitpointsQueue } from "../../kernel/placement.ts";
import { type WaitpointRecord, waitpointKey } from "../../kernel/records/waitpoint.ts";
import type { SuspendedAt } from "../../kernel/rules/suspend.ts";
import { waitpointState } from "../../kernel/suspension/waitpoints.ts";
import type { QueuePosition } from "../../store/port.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import type { TokenSubject } from "../tokens/waitpoint-tokens.ts";
import type { Found } from "./showing.ts";

/** What the token of a waitpoint is made of. */
export const subjectOf = (
	waitpointId: string,
	{ executionId, key, createdAt, expiresAt }: Pick<WaitpointRecord, "executionId" | "key" | "createdAt" | "expiresAt">,
): TokenSubject => ({ executionId, waitpointId, waitpointKey: key, createdAt, expiresAt });

/** Waitpoints of an execution with their tokens, for the worker that holds it. */
export async function withTokens(
	{ engine }: Session,
	executionId: string,
	waitpoints: readonly SuspendedAt[],
): Promise<OpenedWaitpoint[]> {
	const sign = await engine.tokens.signer();
	return waitpoints.map((waitpoint) => {
		const { id, key } = waitpoint;
		const { token } = sign(subjectOf(id, { executionId, ...waitpoint }));
		return { id, key, token, callbackUrl: engine.tokens.callbackUrl(id, token) };
	});
}

/** A waitpoint as the store has it; one that cannot be read is told of and counts as absent. */
export async function findWaitpoint(
	session: Session,
	runner: PartitionRunner,
	waitpointId: string,
): Promise<WaitpointRecord | undefined> {
	const { records } = await runner.ask((store, partition) => store.read(partition, [waitpointKey(waitpointId)]));
	const [stored] = records;
	return stored && stored.version > 0 ? session.decodeReadable<WaitpointRecord>(stored) : undefined;
}

/** The waitpoints of an execution in the order they were made; the page may be shorter where closed ones are passed over. */
export async function listWaitpoints(
	session: Session,
	{ record: execution, runner }: Found,
	all: boolean,
	limit: number,
	after: QueuePosition | undefined,
): Promise<{ waitpoints: WaitpointView[]; next?: QueuePosition }> {
	const queue = waitpointsQueue(execution.id);
	const { entries } = await runner.ask((store, partition) => store.first(partition, queue, limit + 1, after));
	const page = entries.slice(0, limit);
	const keys = page.map(({ key }) => key);
	const { records } =
		keys.length === 0 ? { records: [] } : await runner.ask((store, partition) => store.read(partition, keys));
	const sign = await session.engine.tokens.signer();
	const waitpoints = records.flatMap((stored): WaitpointView[] => {
		const record = stored.version > 0 ? session.decodeReadable<WaitpointRecord>(stored) : undefined;
		const state = record && waitpointState(record, execution, runner.time.now());
		if (!record || !state || (state === "closed" && !all)) return [];
		const { kid, fingerprint } = sign(subjectOf(stored.key, record));
		const { key, createdAt, activatedAt, expiresAt, signalNames } = record;
		return [
			{
				id: stored.key,
				key,
				state,
				requiredSignalNames: [...signalNames],
				kid,
				fingerprint,
				createdAt,
				...(activatedAt > 0 ? { activatedAt } : undefined),
				...(expiresAt > 0 ? { expiresAt } : undefined),
			},
		];
	});
	const last = page.at(-1);
	return {
		waitpoints,
		...(last && entries.length > limit ? { next: { score: last.score, key: last.key } } : undefined),
	};
}
