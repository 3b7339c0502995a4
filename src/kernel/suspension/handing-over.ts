import { withSignal } from "../carried.ts";
import type { Parts } from "../records/execution.ts";
import { amend } from "../records/record.ts";
import type { SignalRecord } from "../records/signal.ts";
import type { SuspensionRecord } from "../records/suspension.ts";
import type { Counting } from "./counting.ts";

/** So many signals are handed over without looking them up. */
const FEW = 16;

/** The suspension with one more signal that was counted. */
export const withCounted = (
	suspension: SuspensionRecord,
	number: number,
	signal: SignalRecord,
	{ counts, leaves }: Pick<Counting, "counts" | "leaves">,
): SuspensionRecord => {
	const { counted, countedBytes, first } = suspension;
	const entry = [number, ...leaves];
	return amend(suspension, {
		counts,
		counted: counted + 1,
		countedBytes: withSignal(countedBytes, signal),
		first: first.length < FEW ? [...first, entry] : first,
	});
};

/** `parts` with what the worker is handed that goes on after a suspension. */
export function handing(parts: Parts, ended: SuspensionRecord, timeoutSignal?: number): Parts {
	const { handed: _, handedBytes: _bytes, ...others } = parts;
	const rest = ended.countedBytes > 0 ? { ...others, handedBytes: ended.countedBytes } : others;
	if (ended.counted > ended.first.length) return rest;
	const few = ended.first.filter(([, ...leaves]) => hasEndedBy(ended, { leaves })).map(([number = 0]) => number);
	return { ...rest, handed: timeoutSignal === undefined ? few : [...few, timeoutSignal] };
}

/**
 * Whether a signal is among those by which a suspension ended, which its worker is given. Where its condition came to hold,
 * those are what the leaves counted that made it hold; otherwise all that had been counted by then.
 */
export const hasEndedBy = (
	{ endedBy, satisfiedBy }: SuspensionRecord,
	{ leaves }: Pick<SignalRecord, "leaves">,
): boolean => endedBy !== "satisfied" || leaves.some((leaf) => satisfiedBy.includes(leaf));

/**
 * Whether an execution went on after a suspension. One that ended its execution, or ended with it, has answered nothing:
 * in a replay that keeps what there was it is waited for once more.
 */
export const hasGoneOn = ({ endedBy, timeoutBehavior }: SuspensionRecord): boolean =>
	endedBy === "timeout" ? timeoutBehavior === "resume" : endedBy !== "" && endedBy !== "execution_ended";
