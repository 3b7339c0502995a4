import { type Key, makeRecord } from "./record.ts";

/** Remembers which execution a key made, and from which body. It shares the execution's partition. */
export interface IdempotencyKeyRecord {
	executionId: string;
	bodyHash: string;
	expiresAt: number;
}

export const idempotencyKeyDefaults: IdempotencyKeyRecord = { executionId: "", bodyHash: "", expiresAt: 0 };

export const idempotencyKeyKey = (namespace: string, key: string): Key<IdempotencyKeyRecord> =>
	`key:${namespace}:${key}`;

export const makeIdempotencyKey = (fields: Partial<IdempotencyKeyRecord>): IdempotencyKeyRecord =>
	makeRecord(idempotencyKeyDefaults, fields);
