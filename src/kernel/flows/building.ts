import { begin, type Deed } from "../changing.ts";
import { newExecution } from "../creating.ts";
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
import { amend, makeRecord } from "../records/record.ts";
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
	for (const [n, { key, number, bodyHash, work }] of members.entries()) {
		const record = records[n];
		if (!record) continue;
		enter(tx, flow.id, number, { key, executionId: record.id });
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
	const changes: Partial<ExecutionRecord> = isSatisfied(group)
		? afterGroup(record, member, now)
		: { ...beforeGroup("pending_first_attempt"), blockedAt: now };
	// That it was eligible from its creation on goes without saying.
	return amendExecution(record, { ...changes, eligibleAt: 0, flowId: flow.id, member });
}

/** Notes a member under its number. */
function enter(tx: Tx, flowId: string, number: number, entry: { key: string; executionId: string }): void {
	const key = flowMembersKey(flowId, pageOfMember(number));
	const place = (number - 1) % MEMBERS_PER_PAGE;
	const page = (place === 0 ? tx.getFresh(key) : tx.get(key)) ?? flowMembersDefaults;
	const members = [...page.members];
	members[place] = entry;
	tx.put(key, amend(page, { members }));
}

/** Lets a member be seen, and claimed. */
function showMember(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	const { delayUntil, member } = record;
	if (!member) return;
	const { isHidden: _, ...shown } = member;
	const event = { type: "created" as const, node: member.key, ...(delayUntil > 0 ? { delayUntil } : undefined) };
	begin(tx, amendExecution(record, { member: shown }), deed, event);
}

/** Lets a page of members be seen, from the last to the first: what can run has all it leads to before it. */
export function showMembers(step: FlowStep): void {
	const { tx, flow, deed } = step;
	const page = pageOfMember(flow.unshown);
	const { members = [] } = tx.get(flowMembersKey(flow.id, page)) ?? {};
	tx.expect(members.map(({ executionId }) => executionId));
	for (const { executionId } of members) {
		const record = tx.getReadable(executionKey(executionId));
		if (record?.member?.isHidden) showMember(tx, record, { now: deed.now, actor: flow.createdBy || deed.actor });
	}
	step.amend({ unshown: page * MEMBERS_PER_PAGE });
}
