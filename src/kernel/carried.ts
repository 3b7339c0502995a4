import type { ExecutionRecord, Failure } from "./records/execution.ts";
import type { SignalRecord } from "./records/signal.ts";

/**
 * How much of a claim's answer an execution takes. What it is handed beside its input is counted when that comes about, so
 * that a claim knows without looking. Rather too much than too little: who takes much is given less at a time.
 */

/** Characters of others' failures that are handed over together; of what goes beyond, only the state is told. */
export const MOST_PASSED_FAILURES = 256 * 1024;

/** Bytes of what signals carry that are handed over together; beyond that only their size is told. */
export const MOST_SIGNALLED_BYTES = 1024 * 1024;

/** Ids, names and times of one that is handed over: an execution, an upstream, a child, a signal. */
const ENTRY_BYTES = 512;

/** How long a failure is as it is written: control characters take six times their room. */
export const failureChars = ({ reason, category }: Failure): number =>
	JSON.stringify(reason).length + JSON.stringify(category).length;

/** What others are told who waited for its end. */
export function endBytes({ attempt, failure, terminalOutcome }: ExecutionRecord): number {
	if (terminalOutcome === "success") return attempt?.result?.size ?? 0;
	const why = attempt?.failure ?? failure;
	return why ? failureChars(why) : 0;
}

/** What is known of the signals of a suspension, with one more. */
export function withSignal(before: number, { name, waitpoint, payload, source, correlationId }: SignalRecord): number {
	const said = name.length + waitpoint.length + correlationId.length;
	const sender = source ? source.type.length + source.identity.length : 0;
	const carried = before < MOST_SIGNALLED_BYTES ? (payload?.size ?? 0) : 0;
	return before + ENTRY_BYTES + said + sender + carried;
}

/** The same of awaited children: of so many, whose results and failures come to so much. */
export const joinedBytes = (children: number, ends: number, most: number): number =>
	children * ENTRY_BYTES + Math.min(most, Math.max(0, ends));

/** Bytes that a claim of it carries. */
export function carriedBytes({ input, tags, member, parts }: ExecutionRecord): number {
	let bytes = ENTRY_BYTES + (input?.size ?? 0);
	for (const name in tags) bytes += name.length + (tags[name]?.length ?? 0);
	if (member?.hasParents) bytes += (member.passedBytes ?? 0) + member.group.satisfied * ENTRY_BYTES;
	if (parts) bytes += (parts.handedBytes ?? 0) + (parts.joinedBytes ?? 0);
	return bytes;
}
