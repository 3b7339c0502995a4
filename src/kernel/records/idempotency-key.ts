import { type Key, makeRecord } from "./record.ts";

/** Remembers which execution a key made, and from which body. It shares the execution's partition. */
export interface IdempotencyKeyRecord {
	executionId: string;
	bodyHash: string;
	expiresAt: number;
}

export const idempotencyKeyDefaults: IdempotencyKeyRecord = {
	executionId: "",
	bodyHash: "",
	expiresAt: 0,
};

export const IDEMPOTENCY_KEY_PREFIX = "key:";

/** What an idempotency key is hashed by: its execution takes the slot of this text. */
export const idempotencySubject = (namespace: string, key: string): string => `${namespace}:${key}`;

export const idempotencyKeyKey = (namespace: string, key: string): Key<IdempotencyKeyRecord> =>
	IDEMPOTENCY_KEY_PREFIX + idempotencySubject(namespace, key);

export const makeIdempotencyKey = (fields: Partial<IdempotencyKeyRecord>): IdempotencyKeyRecord =>
	makeRecord(idempotencyKeyDefaults, fields);
