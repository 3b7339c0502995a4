import { executionKey } from "../records/execution.ts";
import { type FlowOutcome, flowMembersKey, MEMBERS_PER_PAGE, pageOfMember } from "../records/flow.ts";
import type { FlowStep } from "./flow-step.ts";
import { isSatisfied } from "./groups.ts";
import { linksOf, outEdge } from "./member-links.ts";
import { isBad } from "./members.ts";

/** Members and edges looked at in one step. */
const LOOKS_PER_STEP = 64;

/** Ends a flow all of whose members have ended. */
export function endIfOver(step: FlowStep): void {
	const { flow, progress } = step;
	if (flow.outcome !== "" || !flow.isSealed || progress.ended < flow.nodes || progress.busy > 0) return;
	if (flow.unshown > 0 || flow.sealFrom > 0) return;
	if (flow.cancel) end(step, "cancelled");
	else if (progress.bad === 0) end(step, "completed");
	else review(step);
}

function end(step: FlowStep, outcome: FlowOutcome): void {
	step.amend({ outcome, endedAt: step.deed.now, reviewFrom: 0, reviewEdge: 0, cancelFrom: 0 });
	step.tell({ type: "flow_ended", state: outcome });
}

/**
 * Some members ended badly. Each fails the flow unless somebody downstream heeded that, or all it fed were satisfied
 * without it. The first that does decides.
 */
function review(step: FlowStep): void {
	const { tx, flow } = step;
	let room = LOOKS_PER_STEP;
	let edge = flow.reviewEdge;
	for (let number = flow.reviewFrom || 1; number <= flow.nodes; number++, edge = 0) {
		if (room <= 0) return step.amend({ reviewFrom: number, reviewEdge: 0 });
		room -= 1;
		const page = tx.get(flowMembersKey(flow.id, pageOfMember(number)));
		const entry = page?.members[(number - 1) % MEMBERS_PER_PAGE];
		const record = entry && tx.getReadable(executionKey(entry.executionId));
		if (!record?.member || !isBad(record) || record.member.isHeeded) continue;
		const outs = record.member.hasLinks ? linksOf(tx, record.id).outs : 0;
		if (outs === 0) return end(step, "failed");
		for (; edge < outs; edge++, room--) {
			if (room <= 0) return step.amend({ reviewFrom: number, reviewEdge: edge });
			const to = outEdge(tx, record.id, edge)?.to;
			const group = to === undefined ? undefined : tx.getReadable(executionKey(to))?.member?.group;
			if (group && !isSatisfied(group)) return end(step, "failed");
		}
	}
	end(step, "completed");
}
