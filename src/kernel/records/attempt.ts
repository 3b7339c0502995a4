import type { Shapes } from "../shape.ts";
import { type Attempt, attemptShape } from "./execution.ts";
import { type Key, makeRecord } from "./record.ts";

/** An ended attempt, moved out of its execution when the next one starts. */
export interface AttemptRecord {
	attempt: Attempt | null;
}

export const attemptDefaults: AttemptRecord = { attempt: null };

export const attemptShapes: Shapes<AttemptRecord> = { attempt: attemptShape };

export const attemptKey = (executionId: string, index: number): Key<AttemptRecord> => `${executionId}/a${index}`;

/** Fields of a later version stand in its document where they stood in that of the execution. */
export const makeAttemptRecord = ({ unknown, ...attempt }: Attempt): AttemptRecord =>
	makeRecord(attemptDefaults, { attempt: { ...attempt, ...unknown } });
