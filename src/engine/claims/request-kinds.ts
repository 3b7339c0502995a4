import type { GrantView } from "../../contract/replies.ts";
import { queueScore } from "../../kernel/placement.ts";
import { type ClaimRequestRecord, claimRequestKey, grantRequestKey } from "../../kernel/records/claim-request.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import { type GrantRecord, grantKey } from "../../kernel/records/grant.ts";
import type { Key } from "../../kernel/records/record.ts";
import { isGrantHeld } from "../../kernel/rules/grant.ts";
import type { Claim } from "./claim-dispatcher.ts";

type Records = ReadonlyMap<string, object>;

/** What can be asked for under a request id, and how it is told again to whoever repeats the request. */
export interface RequestKind<T> {
	keyOf(namespace: string, instanceId: string, requestId: string): Key<ClaimRequestRecord>;
	/** Of what was just taken. */
	told(record: ExecutionRecord): T;
	/** The records that say whether something is still held. */
	keysOf(taken: readonly [executionId: string, heldBy: string]): string[];
	/** Of what was taken before; undefined when it is no longer held. */
	found(executionId: string, heldBy: string, records: Records): Found<T> | undefined;
	/** In which order what was taken before is told. */
	compare(claim: Pick<Claim, "lanes">, a: Found<T>, b: Found<T>): number;
}

interface Found<T> {
	record: ExecutionRecord;
	told: T;
}

export const leaseRequests: RequestKind<ExecutionRecord> = {
	keyOf: claimRequestKey,
	told: (record) => record,
	keysOf: ([id]) => [executionKey(id)],
	found(id, leaseId, records) {
		const record = records.get(executionKey(id)) as ExecutionRecord | undefined;
		return record?.lease?.id === leaseId ? { record, told: record } : undefined;
	},
	/** As a first answer is ordered: lane by lane as they were given, the best first. */
	compare: ({ lanes }, { record: a }, { record: b }) =>
		lanes.indexOf(a.lane) - lanes.indexOf(b.lane) || queueScore(a) - queueScore(b) || (a.id < b.id ? -1 : 1),
};

export const grantRequests: RequestKind<GrantView> = {
	keyOf: grantRequestKey,
	told: grantView,
	keysOf: ([id, grantId]) => [executionKey(id), grantKey(grantId)],
	found(executionId, grantId, records) {
		const record = records.get(executionKey(executionId)) as ExecutionRecord | undefined;
		const grant = records.get(grantKey(grantId)) as GrantRecord | undefined;
		if (!record || !grant || !isGrantHeld(grantId, grant, record)) return undefined;
		return { record, told: { grantId, executionId, expiresAt: grant.expiresAt } };
	},
	/** Two engines asked at once may each have made one: the earlier may have been told of before the other was there. */
	compare: (_, { told: a }, { told: b }) => a.expiresAt - b.expiresAt || (a.grantId < b.grantId ? -1 : 1),
};

export function grantView({ id, grant }: ExecutionRecord): GrantView {
	if (!grant) throw new TypeError(`${id} was granted without a grant`);
	return { grantId: grant.id, executionId: id, expiresAt: grant.expiresAt };
}
