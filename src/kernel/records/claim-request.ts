import { type Key, makeRecord } from "./record.ts";

/**
 * What a claim with a request id took in one partition, written in the same step as the leases. Whoever repeats the
 * request finds it and is given those leases again instead of others.
 */
export interface ClaimRequestRecord {
	/** Tells the commands of one call from those of another under the same request id. */
	call: string;
	leases: readonly [executionId: string, leaseId: string][];
	expiresAt: number;
}

export const claimRequestDefaults: ClaimRequestRecord = { call: "", leases: [], expiresAt: 0 };

export const CLAIM_REQUEST_PREFIX = "claim:";

/** The length in front keeps apart an instance `a:b` asking for `c` and an instance `a` asking for `b:c`. */
export const claimRequestKey = (namespace: string, instanceId: string, requestId: string): Key<ClaimRequestRecord> =>
	`${CLAIM_REQUEST_PREFIX}${namespace}:${instanceId.length}:${instanceId}:${requestId}`;

export const makeClaimRequest = (fields: Partial<ClaimRequestRecord>): ClaimRequestRecord =>
	makeRecord(claimRequestDefaults, fields);
