import { list, type Shapes, text, tuple } from "../shape.ts";
import { type Key, makeRecord } from "./record.ts";

/**
 * What a claim or a grant with a request id took in one partition, written in the same step as the leases or the grant.
 * Whoever repeats the request finds it and is given those again instead of others.
 */
export interface ClaimRequestRecord {
	/** Tells the commands of one call from those of another under the same request id. */
	call: string;
	/** Each with its lease, or with its grant. */
	leases: readonly [executionId: string, heldBy: string][];
	expiresAt: number;
}

export const claimRequestDefaults: ClaimRequestRecord = { call: "", leases: [], expiresAt: 0 };

export const claimRequestShapes: Shapes<ClaimRequestRecord> = { leases: list(tuple(text, text)) };

export const CLAIM_REQUEST_PREFIX = "claim:";

/** The length in front keeps apart an instance `a:b` asking for `c` and an instance `a` asking for `b:c`. */
export const claimRequestKey = (namespace: string, instanceId: string, requestId: string): Key<ClaimRequestRecord> =>
	`${CLAIM_REQUEST_PREFIX}${namespace}:${instanceId.length}:${instanceId}:${requestId}`;

/** A grant's requests have names of their own: where the length stands in those of claims this has a word. */
export const grantRequestKey = (namespace: string, instanceId: string, requestId: string): Key<ClaimRequestRecord> =>
	`${CLAIM_REQUEST_PREFIX}${namespace}:grant:${instanceId.length}:${instanceId}:${requestId}`;

export const makeClaimRequest = (fields: Partial<ClaimRequestRecord>): ClaimRequestRecord =>
	makeRecord(claimRequestDefaults, fields);
