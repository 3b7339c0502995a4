import { type Key, makeRecord } from "./record.ts";

/**
 * Remembers which execution a key made, and from which body. It shares the execution's partition, but for members of flows:
 * they live with their flow, which the key then names.
 */
export interface IdempotencyKeyRecord {
	executionId: string;
	bodyHash: string;
	expiresAt: number;
	/** The flow of a member, and its node; while there is no such flow, the key is free. */
	flowId: string;
	node: string;
}

export const idempotencyKeyDefaults: IdempotencyKeyRecord = {
	executionId: "",
	bodyHash: "",
	expiresAt: 0,
	flowId: "",
	node: "",
};

export const IDEMPOTENCY_KEY_PREFIX = "key:";

/** What an idempotency key is hashed by: its execution takes the slot of this text. */
export const idempotencySubject = (namespace: string, key: string): string => `${namespace}:${key}`;

export const idempotencyKeyKey = (namespace: string, key: string): Key<IdempotencyKeyRecord> =>
	IDEMPOTENCY_KEY_PREFIX + idempotencySubject(namespace, key);

export const makeIdempotencyKey = (fields: Partial<IdempotencyKeyRecord>): IdempotencyKeyRecord =>
	makeRecord(idempotencyKeyDefaults, fields);
