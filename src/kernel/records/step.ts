import { type Payload, payloadShape } from "../payload.ts";
import type { Shapes } from "../shape.ts";
import { type Failure, failureShape } from "./execution.ts";
import type { Key } from "./record.ts";

/** What a step of a handler came to. A result is final; a step that failed may be recorded anew. */
export interface StepRecord {
	name: string;
	/** Which of the steps of this name in one run: 0 is the first. */
	index: number;
	/** Its place among the steps of its execution: 1, 2, 3 … Kept when it is recorded anew. */
	number: number;
	/** The attempt that recorded it. */
	attempt: number;
	/** By the clock of the worker, so good for nothing but to tell one recording of a failure from the next. */
	startedAt: number;
	recordedAt: number;
	durationMs: number;
	/** Null for a step that failed, and for one that returned nothing. */
	result: Payload | null;
	error: Failure | null;
}

export const stepDefaults: StepRecord = {
	name: "",
	index: 0,
	number: 0,
	attempt: 0,
	startedAt: 0,
	recordedAt: 0,
	durationMs: 0,
	result: null,
	error: null,
};

export const stepShapes: Shapes<StepRecord> = { result: payloadShape, error: failureShape };

/** The name may hold anything, so it comes last. */
export const stepKey = (executionId: string, generation: number, name: string, index: number): Key<StepRecord> =>
	`${executionId}/p${generation}.${index}.${name}`;

/** What a key of a step says of where it belongs. */
export function stepSubject(key: string): { executionId: string; generation: number } {
	const slash = key.indexOf("/");
	return { executionId: key.slice(0, slash), generation: Number(key.slice(slash + 2, key.indexOf(".", slash))) };
}

/** Recorded steps of an execution may be so many bytes together. */
export const MAX_STEP_BYTES = 64 * 1024 * 1024;

/** However little a step returned, its record takes room: a million of them are as much as there may be. */
const LEAST_BYTES = 64;

/** What a step counts among those of its execution. */
export const bytesOfStep = ({ result }: Pick<StepRecord, "result">): number => Math.max(LEAST_BYTES, result?.size ?? 0);
