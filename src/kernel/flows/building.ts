import { begin, type Deed } from "../changing.ts";
import { newExecution } from "../creating.ts";
import type { EventDraft } from "../events.ts";
import { type Refusal, refuse } from "../outcome.ts";
import { amendExecution, type ExecutionRecord, executionKey, type Member } from "../records/execution.ts";
import {
	type FlowRecord,
	flowMembersDefaults,
	flowMembersKey,
	flowNodeDefaults,
	flowNodeKey,
	MEMBERS_PER_PAGE,
	pageOfMember,
} from "../records/flow.ts";
import { laneDefaults, laneKey } from "../records/lane.ts";
import { linksKey } from "../records/links.ts";
import { amend, assign, makeRecord } from "../records/record.ts";
import type { Tx } from "../tx.ts";
import { countMember } from "./counting.ts";
import type { FlowStep } from "./flow-step.ts";
import { isSatisfied } from "./groups.ts";
import { afterGroup, beforeGroup } from "./members.ts";
import type { FlowPart, NewMember } from "./planning.ts";

/** Writes a part of a flow; hidden, unless the flow is whole with it. */
export function writePart(
	tx: Tx,
	flow: FlowRecord,
	{ members, links }: FlowPart,
	isHidden: boolean,
	deed: Deed,
): Refusal | undefined {
	const records: ExecutionRecord[] = [];
	for (const member of members) {
		const made = makeMember(tx, flow, member, isHidden, deed.now);
		if ("ok" in made) return made;
		records.push(made);
	}
	enter(tx, flow.id, members);
	for (const [n, { key, number, bodyHash, work }] of members.entries()) {
		const record = records[n];
		if (!record) continue;
		if (bodyHash !== undefined) {
			const node = makeRecord(flowNodeDefaults, { executionId: record.id, number, bodyHash });
			tx.put(flowNodeKey(flow.id, key), node);
		}
		if (work.inputBlob) tx.putBlob(work.inputBlob);
		countMember(tx, undefined, record);
		if (isHidden) tx.put(executionKey(record.id), record);
		else showMember(tx, record, deed);
	}
	for (const { executionId, page, record } of links) tx.put(linksKey(executionId, page), record);
	return undefined;
}

function makeMember(
	tx: Tx,
	flow: FlowRecord,
	{ key, number, group, hasLinks, hasParents, work }: NewMember,
	isHidden: boolean,
	now: number,
): ExecutionRecord | Refusal {
	const lane = tx.get(laneKey(flow.namespace, work.lane)) ?? laneDefaults;
	if (lane.state === "draining") return refuse("lane_draining", { lane: work.lane, node: key });
	const { delayMs, ...rest } = work;
	const record = newExecution(rest, lane, now);
	const member: Member = { key, number, group };
	if (hasLinks) member.hasLinks = true;
	if (hasParents) member.hasParents = true;
	if (delayMs) member.delayMs = delayMs;
	if (isHidden) member.isHidden = true;
	// Nobody has it yet, so it need not be copied.
	if (isSatisfied(group)) assign(record, afterGroup(record, member, now));
	else {
		assign(record, beforeGroup("pending_first_attempt"));
		record.blockedAt = now;
	}
	// That it was eligible from its creation on goes without saying.
	record.eligibleAt = 0;
	record.flowId = flow.id;
	record.member = member;
	return record;
}

/** Notes members, all of one page, under their numbers. */
function enter(tx: Tx, flowId: string, members: readonly NewMember[]): void {
	const [first] = members;
	if (!first) return;
	const key = flowMembersKey(flowId, pageOfMember(first.number));
	const place = (first.number - 1) % MEMBERS_PER_PAGE;
	const page = (place === 0 ? tx.getFresh(key) : tx.get(key)) ?? flowMembersDefaults;
	const all = [...page.members];
	for (const { key: node, number, work } of members)
		all[(number - 1) % MEMBERS_PER_PAGE] = { key: node, executionId: work.executionId };
	tx.put(key, amend(page, { members: all }));
}

/** Lets a member be seen, and claimed. */
function showMember(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	const { delayUntil, member } = record;
	if (!member) return;
	const event: EventDraft = { type: "created", node: member.key };
	if (delayUntil > 0) event["delayUntil"] = delayUntil;
	const { isHidden, ...shown } = member;
	begin(tx, isHidden ? amendExecution(record, { member: shown }) : record, deed, event);
}

/** Lets a page of members be seen, from the last to the first: what can run has all it leads to before it. */
export function showMembers(step: FlowStep): void {
	const { tx, flow, deed } = step;
	const page = pageOfMember(flow.unshown);
	const { members = [] } = tx.get(flowMembersKey(flow.id, page)) ?? {};
	tx.expect(members.map(({ executionId }) => executionId));
	// Whoever goes on with it, they are made by whom the flow came from.
	const actor = flow.submittedBy || flow.createdBy || deed.actor;
	for (const { executionId } of members) {
		const record = tx.getReadable(executionKey(executionId));
		if (record?.member?.isHidden) showMember(tx, record, { now: deed.now, actor });
	}
	step.amend({ unshown: page * MEMBERS_PER_PAGE });
}
