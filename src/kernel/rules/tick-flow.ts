import { showMembers } from "../flows/building.ts";
import { Cascade } from "../flows/cascade.ts";
import { endIfOver } from "../flows/flow-end.ts";
import { FlowStep } from "../flows/flow-step.ts";
import { isImpossible } from "../flows/groups.ts";
import { linksOf } from "../flows/member-links.ts";
import { isWaitingForGroup } from "../flows/members.ts";
import { obeyCancel } from "../flows/obeying.ts";
import { removeFlow } from "../flows/removing.ts";
import { type ExecutionRecord, executionKey } from "../records/execution.ts";
import { flowKey, flowMembersKey, MEMBERS_PER_PAGE, pageOfMember } from "../records/flow.ts";
import { linksSubject } from "../records/links.ts";
import { hasEnded } from "../state.ts";
import type { TickCommand, TickOutcome } from "../ticking.ts";
import { type Duty, flowTimersOf } from "../timers.ts";
import type { Tx } from "../tx.ts";

/** Whatever is due on a flow. */
export function tickFlow(tx: Tx, { key }: TickCommand, now: number): TickOutcome {
	const flow = tx.get(flowKey(key));
	if (!flow) return { ok: true };
	const [timer] = flowTimersOf(flow);
	if (!timer) return { ok: true };
	if (timer.at > now) return { ok: true, early: timer.at };
	const step = new FlowStep(tx, flow, { now, actor: timer.duty });
	perform(step, timer.duty);
	return { ok: true, duty: timer.duty };
}

function perform(step: FlowStep, duty: Duty): void {
	const { flow } = step;
	if (duty === "retention_trimmer" || flow.buildUntil > 0) return removeFlow(step);
	if (flow.unshown > 0) showMembers(step);
	else if (flow.cancelFrom > 0)
		eachMember(step, "cancelFrom", (cascade, record) => {
			if (flow.cancel && !hasEnded(record)) obeyCancel(step, cascade, record, flow.cancel);
		});
	else if (flow.sealFrom > 0) eachMember(step, "sealFrom", skipIfImpossible);
	endIfOver(step);
	step.write();
}

/** Goes through a page of members, from the one that a field of the flow names on. */
function eachMember(
	step: FlowStep,
	field: "sealFrom" | "cancelFrom",
	visit: (cascade: Cascade, record: ExecutionRecord) => void,
): void {
	const { tx, flow } = step;
	const page = pageOfMember(flow[field]);
	const { members = [] } = tx.get(flowMembersKey(flow.id, page)) ?? {};
	tx.expect(members.map(({ executionId }) => executionId));
	const cascade = new Cascade(step);
	for (const { executionId } of members) {
		// A cascade may have come by before.
		const record = tx.getReadable(executionKey(executionId));
		if (record) visit(cascade, record);
	}
	const next = (page + 1) * MEMBERS_PER_PAGE + 1;
	step.amend({ [field]: next <= flow.nodes ? next : 0 });
	cascade.run();
}

function skipIfImpossible(cascade: Cascade, record: ExecutionRecord): void {
	const { member } = record;
	if (member && isWaitingForGroup(record) && isImpossible(member.group)) cascade.skip(record, member);
}

/** What is left to be done with the edges of a member. */
export function tickLinks(tx: Tx, { key }: TickCommand, now: number): TickOutcome {
	const record = tx.get(executionKey(linksSubject(key)));
	const flow = record && tx.get(flowKey(record.flowId));
	if (!record || !flow) return { ok: true };
	const { reopenFrom, resolveFrom } = linksOf(tx, record.id);
	const duty: Duty = reopenFrom >= 0 || resolveFrom >= 0 ? "dependency_resolver" : "edge_cancel";
	const step = new FlowStep(tx, flow, { now, actor: duty });
	const cascade = new Cascade(step);
	cascade.continue(record);
	endIfOver(step);
	step.write();
	return { ok: true, duty };
}
