import { type Fence, fenceAnswer } from "../fence.ts";
import { type Outcome, refuse } from "../outcome.ts";
import type { Blob, Payload } from "../payload.ts";
import { amendExecution, executionKey, type Failure, partsOf } from "../records/execution.ts";
import { amend } from "../records/record.ts";
import { bytesOfStep, MAX_STEP_BYTES, type StepRecord, stepDefaults, stepKey } from "../records/step.ts";
import { find, notFound, type Target } from "../target.ts";
import type { Tx } from "../tx.ts";

export interface RecordStepCommand extends Target {
	op: "recordStep";
	fence?: Fence;
	name: string;
	index: number;
	/** Null with an error, and for a step that returned nothing. */
	result: Payload | null;
	resultBlob?: Blob;
	error?: Failure;
	/** By the clock of the worker. */
	startedAt: number;
}

export type RecordStepOutcome = Outcome<{ step: StepRecord }>;

/**
 * Keeps what a step came to. A result is final: whoever records the step again, with whatever, gets the first answer. No
 * transition and so no event.
 */
export function recordStep(tx: Tx, command: RecordStepCommand, now: number): RecordStepOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "recordStep");
	if (answer) return answer as RecordStepOutcome;
	const parts = partsOf(record);
	const { name, index, result, error = null, startedAt } = command;
	const key = stepKey(record.id, parts.generation, name, index);
	// Almost always there is none: that it is so need not be asked beforehand.
	const known = tx.getFresh(key);
	if (known && (known.error === null || isRepeat(known, command))) return { ok: true, step: known };
	const step = amend(known ?? stepDefaults, {
		name,
		index,
		number: known?.number ?? parts.steps + 1,
		attempt: record.attempt?.index ?? 0,
		startedAt,
		recordedAt: now,
		durationMs: Math.max(0, now - startedAt),
		result,
		error,
	});
	const stepBytes = parts.stepBytes + bytesOfStep(step) - (known ? bytesOfStep(known) : 0);
	if (stepBytes > MAX_STEP_BYTES) {
		return refuse("steps_too_large", { executionId: record.id, limit: MAX_STEP_BYTES, size: stepBytes });
	}
	tx.put(key, step);
	if (command.resultBlob) tx.putBlob(command.resultBlob);
	const steps = parts.steps + (known ? 0 : 1);
	tx.put(executionKey(record.id), amendExecution(record, { parts: { ...parts, steps, stepBytes } }));
	return { ok: true, step };
}

/** Whether the same failure is told once more, because its answer was lost. */
const isRepeat = (known: StepRecord, { startedAt, error }: RecordStepCommand): boolean =>
	known.startedAt === startedAt && known.error?.reason === error?.reason && known.error?.category === error?.category;
