import { list, number, part, type Shapes, text } from "../shape.ts";
import { type Condition, conditionShape } from "../suspension/condition.ts";
import type { SuspensionReason } from "../suspension/reasons.ts";
import type { TimeoutBehavior } from "./execution.ts";
import { type Key, makeRecord } from "./record.ts";

/** How a suspension came to its end; empty while it lasts. */
export type SuspensionEnd = "" | "satisfied" | "resumed" | "timeout" | "admitted" | "execution_ended";

/** One suspension of an execution, kept as long as the execution: its holder's repeated call gets its first answer. */
export interface SuspensionRecord {
	id: string;
	/** Of which generation of its execution. */
	generation: number;
	reason: SuspensionReason;
	condition: Condition;
	waitpoints: readonly { id: string; key: string }[];
	resumeDelayMs: number;
	timeoutBehavior: TimeoutBehavior;
	/** Under which lease it began, and what was asked then. */
	epoch: number;
	digest: string;
	idempotencyKey: string;
	since: number;
	/** What each leaf of the condition has counted. */
	counts: readonly number[];
	/** Signals that some leaf counted. */
	counted: number;
	/** Bytes of these, about. */
	countedBytes: number;
	/** The first of these: their numbers, each followed by the leaves that counted it. */
	first: readonly (readonly number[])[];
	endedAt: number;
	endedBy: SuspensionEnd;
	/** The leaves by which its condition came to hold. */
	satisfiedBy: readonly number[];
}

const none = Object.freeze([]) as readonly never[];

export const suspensionDefaults: SuspensionRecord = {
	id: "",
	generation: 0,
	reason: "waiting_for_signal",
	condition: Object.freeze({ operatorOnly: true }),
	waitpoints: none,
	resumeDelayMs: 0,
	timeoutBehavior: "fail",
	epoch: 0,
	digest: "",
	idempotencyKey: "",
	since: 0,
	counts: none,
	counted: 0,
	countedBytes: 0,
	first: none,
	endedAt: 0,
	endedBy: "",
	satisfiedBy: none,
};

export const suspensionShapes: Shapes<SuspensionRecord> = {
	condition: conditionShape,
	waitpoints: list(part({ id: text, key: text })),
	counts: list(number),
	first: list(list(number)),
	satisfiedBy: list(number),
};

export const suspensionKey = (executionId: string, number: number): Key<SuspensionRecord> =>
	`${executionId}/u${number}`;

export const makeSuspension = (fields: Partial<SuspensionRecord>): SuspensionRecord =>
	makeRecord(suspensionDefaults, fields);

/** Which suspension was made under a key. */
export interface SuspensionNameRecord {
	number: number;
}

export const suspensionNameDefaults: SuspensionNameRecord = { number: 0 };

/** The key may hold anything, so it comes last. */
export const suspensionNameKey = (executionId: string, generation: number, key: string): Key<SuspensionNameRecord> =>
	`${executionId}/k${generation}.${key}`;
