import { list, type Shapes, text } from "../shape.ts";
import { type Key, makeRecord } from "./record.ts";

/**
 * Where signals for an execution arrive. It belongs to the execution, not to an attempt. Whether it is open is said by it
 * and its execution together; see `suspension/waitpoints`.
 */
export interface WaitpointRecord {
	executionId: string;
	namespace: string;
	key: string;
	/** Which of its execution's waitpoints it is: 1, 2, 3 … */
	number: number;
	/** Of which generation of its execution. */
	generation: number;
	createdAt: number;
	/** When it closes unless a suspension names it before; 0 for never. */
	expiresAt: number;
	/** The suspension that waits at it; 0 for none. */
	suspension: number;
	activatedAt: number;
	/** The names of signals it is waited at for. */
	signalNames: readonly string[];
	closedAt: number;
	closedBy: "" | "suspension" | "expiry";
}

export const waitpointDefaults: WaitpointRecord = {
	executionId: "",
	namespace: "default",
	key: "",
	number: 0,
	generation: 0,
	createdAt: 0,
	expiresAt: 0,
	suspension: 0,
	activatedAt: 0,
	signalNames: Object.freeze([]) as readonly string[],
	closedAt: 0,
	closedBy: "",
};

export const waitpointShapes: Shapes<WaitpointRecord> = { signalNames: list(text) };

export const waitpointKey = (id: string): Key<WaitpointRecord> => id;

export const makeWaitpoint = (fields: Partial<WaitpointRecord>): WaitpointRecord =>
	makeRecord(waitpointDefaults, fields);

/** The latest waitpoint under a key. */
export interface WaitpointNameRecord {
	id: string;
}

export const waitpointNameDefaults: WaitpointNameRecord = { id: "" };

/** The key may hold anything, so it comes last. */
export const waitpointNameKey = (executionId: string, generation: number, key: string): Key<WaitpointNameRecord> =>
	`${executionId}/n${generation}.${key}`;
