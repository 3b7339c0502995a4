import { number, part, text } from "./shape.ts";

/**
 * The envelope around bytes: inputs, results, later steps and signals. Small payloads sit inside their record, as text
 * when they are text, else as base64; larger ones are kept apart under `ref`.
 */
export interface Payload {
	/** Left out for JSON, the common case. */
	contentType?: string;
	/** How the bytes are transformed (compression, client-side encryption); left out when they are plain. */
	encoding?: string;
	size: number;
	text?: string;
	base64?: string;
	ref?: string;
}

/** Small ones have a text or base64, larger ones lead to their bytes. */
export const payloadShape = part(
	{ size: number },
	{ contentType: text, encoding: text, text, base64: text, ref: text },
);

/** Bytes of others' results that are handed over together; of what goes beyond, only the size is told. */
export const MOST_PASSED_BYTES = 1024 * 1024;

export const JSON_CONTENT = "application/json";

/** Up to here a payload sits inside its record. */
export const INLINE_PAYLOAD_BYTES = 4096;

export const MAX_PAYLOAD_BYTES = 1024 * 1024;

/** Bytes that travel beside a command because they are too large for a record. */
export interface Blob {
	key: string;
	bytes: Uint8Array;
}

export const inputBlobKey = (executionId: string): string => `${executionId}/in`;
/** Only one lease records the result of a step. */
export const stepBlobKey = (executionId: string, epoch: number, name: string, index: number): string =>
	`${executionId}/p${epoch}.${index}.${name}`;
export const signalBlobKey = (executionId: string, uuid: string): string => `${executionId}/s-${uuid}`;
/** Each lease ends one attempt at most, so its epoch tells whose it is. */
export const detailBlobKey = (executionId: string, epoch: number): string => `${executionId}/t${epoch}`;
export const resultBlobKey = (executionId: string, epoch: number): string => `${executionId}/r${epoch}`;
