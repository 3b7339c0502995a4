import { type Key, makeRecord } from "./record.ts";

/** Leads from a grant's id to what it reserved, and remembers for a while what became of it. */
export interface GrantRecord {
	executionId: string;
	namespace: string;
	instanceId: string;
	expiresAt: number;
	/** The lease it was turned into; empty before that. */
	leaseId: string;
}

export const grantDefaults: GrantRecord = {
	executionId: "",
	namespace: "default",
	instanceId: "",
	expiresAt: 0,
	leaseId: "",
};

/** How long after its end a grant is remembered, so that whoever comes late is told that it is over. */
const REMEMBERED_MS = 600_000;

export const grantForgottenAt = (record: GrantRecord): number => record.expiresAt + REMEMBERED_MS;

export const grantKey = (id: string): Key<GrantRecord> => id;

export const makeGrant = (fields: Partial<GrantRecord>): GrantRecord => makeRecord(grantDefaults, fields);
