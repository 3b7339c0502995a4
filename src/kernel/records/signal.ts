import { type Payload, payloadShape } from "../payload.ts";
import { list, number, part, type Shapes, text } from "../shape.ts";
import { type Key, makeRecord } from "./record.ts";

/** Who sent a signal, by its own word. */
export interface SignalSource {
	/** Type of the sender. */
	type: string;
	/** Who the sender is. */
	identity: string;
}

/** What became of a signal. */
export type SignalEffect = "appended" | "appended_duplicate" | "ignored" | "resumed" | "buffered";

/** A signal that was accepted, kept as long as its execution. */
export interface SignalRecord {
	id: string;
	waitpointId: string;
	/** The key of its waitpoint; empty for what came without one. */
	waitpoint: string;
	name: string;
	payload: Payload | null;
	source: SignalSource | null;
	category: string;
	correlationId: string;
	idempotencyKey: string;
	at: number;
	effect: SignalEffect;
	/** The suspension that looked at it; 0 while none has. */
	suspension: number;
	/** The leaves of that suspension's condition that counted it. */
	leaves: readonly number[];
}

export const signalDefaults: SignalRecord = {
	id: "",
	waitpointId: "",
	waitpoint: "",
	name: "",
	payload: null,
	source: null,
	category: "",
	correlationId: "",
	idempotencyKey: "",
	at: 0,
	effect: "ignored",
	suspension: 0,
	leaves: Object.freeze([]) as readonly number[],
};

export const signalShapes: Shapes<SignalRecord> = {
	payload: payloadShape,
	source: part({ type: text, identity: text }),
	leaves: list(number),
};

export const signalKey = (executionId: string, number: number): Key<SignalRecord> => `${executionId}/s${number}`;

export const makeSignal = (fields: Partial<SignalRecord>): SignalRecord => makeRecord(signalDefaults, fields);

/** The execution and the number that the key of a signal tells. */
export function signalSubject(key: string): { executionId: string; number: number } {
	const slash = key.indexOf("/");
	return { executionId: key.slice(0, slash), number: Number(key.slice(slash + 2)) };
}

/** Which signal was sent under an idempotency key. */
export interface SentSignalRecord {
	number: number;
	at: number;
}

export const sentSignalDefaults: SentSignalRecord = { number: 0, at: 0 };

/** The key may hold anything, so it comes last. */
export const sentSignalKey = (executionId: string, waitpointId: string, key: string): Key<SentSignalRecord> =>
	`${executionId}/d${waitpointId}.${key}`;

/** Marks what a leaf has counted: a waitpoint, a name or a source counts once. */
export interface CountedValueRecord {
	number: number;
}

export const countedValueDefaults: CountedValueRecord = { number: 0 };

/** The value may hold anything, so it comes last. */
export const countedValueKey = (
	executionId: string,
	suspension: number,
	leaf: number,
	value: string,
): Key<CountedValueRecord> => `${executionId}/v${suspension}.${leaf}.${value}`;
