import type { ExecutionRecord } from "../records/execution.ts";
import { flowProgressDefaults, flowProgressKey } from "../records/flow.ts";
import { amend } from "../records/record.ts";
import { type PublicState, publicState } from "../state.ts";
import type { Tx } from "../tx.ts";

/** Keeps count of the states that the members of a flow are in: whoever changes one is counted here, in the same step. */
export function countMember(tx: Tx, before: ExecutionRecord | undefined, after: ExecutionRecord): void {
	const from = before && publicState(before);
	const to = publicState(after);
	if (from === to) return;
	const progress = tx.get(flowProgressKey(after.flowId)) ?? flowProgressDefaults;
	// Written anew: an object that something was deleted from is slow from then on.
	const states: Partial<Record<PublicState, number>> = {};
	for (const name in progress.states) {
		const state = name as PublicState;
		const count = (progress.states[state] ?? 0) - Number(state === from);
		if (count > 0) states[state] = count;
	}
	states[to] = (states[to] ?? 0) + 1;
	tx.put(flowProgressKey(after.flowId), amend(progress, { states }));
}
