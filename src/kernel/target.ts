import { type Refusal, refuse } from "./outcome.ts";
import { type ExecutionRecord, executionKey } from "./records/execution.ts";
import type { Tx } from "./tx.ts";

/** What a command about one execution names. */
export interface Target {
	executionId: string;
	/** Set for a caller bound to a namespace: work of any other does not exist for it. */
	namespace?: string;
}

/** The execution a command is about; undefined when there is none for this caller, for whatever reason. */
export function find(tx: Tx, { executionId, namespace }: Target): ExecutionRecord | undefined {
	const record = tx.get(executionKey(executionId));
	return record && isFor(record, namespace) ? record : undefined;
}

/** Whether an execution exists as far as a caller can tell; `namespace` is the caller's, if it is bound to one. */
export const isFor = (record: ExecutionRecord, namespace: string | undefined): boolean =>
	!record.removing && !record.member?.isHidden && isWithin(record.namespace, namespace);

/** Whether something of a namespace concerns a caller who may be bound to one. */
export const isWithin = (namespace: string, bound: string | undefined): boolean =>
	bound === undefined || bound === namespace;

export const notFound = ({ executionId }: Target): Refusal => refuse("execution_not_found", { executionId });
