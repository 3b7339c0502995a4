import type { Deed } from "../changing.ts";
import { type Outcome, refuse } from "../outcome.ts";
import type { ExecutionRecord } from "../records/execution.ts";
import { flowKey } from "../records/flow.ts";
import type { Tx } from "../tx.ts";
import { Cascade } from "./cascade.ts";
import { FlowStep } from "./flow-step.ts";
import { isImpossible, isSatisfied } from "./groups.ts";
import { linksOf } from "./member-links.ts";

/** `unfinished` tells that what followed from its end had to be gone on with first: the replay is to be asked for again. */
export function mayReopen(tx: Tx, record: ExecutionRecord, deed: Deed): Outcome<{ unfinished: boolean }> {
	const { id: executionId, flowId, member } = record;
	const flow = tx.get(flowKey(flowId));
	if (!flow || flow.removing) return refuse("flow_not_found", { flowId });
	if (flow.cancel) return refuse("flow_cancelled", { flowId, executionId });
	const { resolveFrom, reopenFrom } = linksOf(tx, executionId);
	if (member?.hasLinks && (resolveFrom >= 0 || reopenFrom >= 0)) {
		const step = new FlowStep(tx, flow, deed);
		new Cascade(step).continue(record);
		step.write();
		return { ok: true, unfinished: true };
	}
	// However it ended, it would wait for what can never be.
	if (flow.isSealed && member && !isSatisfied(member.group) && isImpossible(member.group))
		return refuse("member_skipped", { executionId, flowId, node: member.key });
	return { ok: true, unfinished: false };
}

/** A member is replayed: what was skipped because of it waits again, and so does its flow. */
export function reopenFlow(tx: Tx, before: ExecutionRecord, next: ExecutionRecord, deed: Deed): void {
	const flow = tx.get(flowKey(next.flowId));
	if (!flow) return;
	const step = new FlowStep(tx, flow, deed);
	const cascade = new Cascade(step);
	cascade.reopened(before, next);
	cascade.run();
	if (flow.reviewFrom > 0) step.amend({ reviewFrom: 0, reviewEdge: 0 });
	if (flow.outcome !== "") {
		step.amend({ outcome: "", endedAt: 0 });
		step.tell({ type: "flow_reopened", node: next.member?.key });
	}
	step.write();
}
