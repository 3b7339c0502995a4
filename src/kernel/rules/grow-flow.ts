import { writePart } from "../flows/building.ts";
import { Cascade } from "../flows/cascade.ts";
import { endIfOver } from "../flows/flow-end.ts";
import { FlowStep } from "../flows/flow-step.ts";
import { type GivenGroup, isSameEdge, MAX_NODES } from "../flows/graph.ts";
import { edgeStateAfter, isSatisfied, isUnreachable } from "../flows/groups.ts";
import { endOf, inEdge, linksOf, outEdge, putInEdge, putOutEdge, putTasks } from "../flows/member-links.ts";
import { noGroup } from "../flows/members.ts";
import type { GivenNode } from "../flows/planning.ts";
import { type FlowTarget, findFlow, flowNotFound } from "../flows/target.ts";
import { startWaiting, stopWaiting } from "../flows/waiting.ts";
import { type Outcome, type Refusal, refuse } from "../outcome.ts";
import { amendExecution, type ExecutionRecord, executionKey, type Group, type Member } from "../records/execution.ts";
import { type FlowNodeRecord, type FlowRecord, flowNodeKey } from "../records/flow.ts";
import { type EdgeCondition, linksKey } from "../records/links.ts";
import { amend } from "../records/record.ts";
import { hasEnded } from "../state.ts";
import type { Tx } from "../tx.ts";

export interface AddMemberCommand extends FlowTarget {
	op: "addMember";
	node: GivenNode & { bodyHash: string };
	actor: string;
}

export type AddMemberOutcome = Outcome<{ executionId: string; revision: number; nodeCount: number; created: boolean }>;

export function addMember(tx: Tx, command: AddMemberCommand, now: number): AddMemberOutcome {
	const { node } = command;
	const flow = findFlow(tx, command);
	if (!flow) return flowNotFound(command);
	const known = tx.get(flowNodeKey(flow.id, node.key));
	if (known?.bodyHash === node.bodyHash)
		return { ok: true, executionId: known.executionId, revision: flow.revision, nodeCount: flow.nodes, created: false };
	const closed = closedTo(flow);
	if (closed) return closed;
	if (known) return refuse("duplicate_node", { flowId: flow.id, node: node.key });
	if (flow.nodes >= MAX_NODES) return refuse("too_many_nodes", { flowId: flow.id, max: MAX_NODES });
	const deed = { now, actor: command.actor };
	const number = flow.nodes + 1;
	const step = new FlowStep(tx, flow, deed);
	step.amend({ nodes: number, revision: flow.revision + 1 });
	const { executionId } = node.work;
	step.tell({ type: "member_added", node: node.key, memberId: executionId });
	const member = { ...node, number, group: noGroup, hasLinks: false, hasParents: false };
	const refusal = writePart(tx, step.flow, { members: [member], links: [] }, false, deed);
	if (refusal) return refusal;
	step.write();
	return { ok: true, executionId, revision: step.flow.revision, nodeCount: number, created: true };
}

export interface AddEdgeCommand extends FlowTarget {
	op: "addEdge";
	edgeId: string;
	/** Keys of nodes. */
	from: string;
	to: string;
	on: EdgeCondition;
	passResultAs?: string;
	expectedRevision: number;
	/** Whether the downstream leads to the upstream already, in the graph of a revision. */
	closesCycle: boolean;
	graphRevision: number;
	actor: string;
}

export type AddEdgeOutcome = Outcome<{ edgeId: string; revision: number; created: boolean }>;

export function addEdge(tx: Tx, command: AddEdgeCommand, now: number): AddEdgeOutcome {
	const { from, to, expectedRevision } = command;
	const flow = findFlow(tx, command);
	if (!flow) return flowNotFound(command);
	if (from === to) return refuse("self_edge", { flowId: flow.id, node: from });
	const ends = { upstream: memberAt(tx, flow, from), downstream: memberAt(tx, flow, to) };
	const { upstream, downstream } = ends;
	if (!upstream?.member) return closedTo(flow) ?? unknownNode(flow, from, "from");
	if (!downstream?.member) return closedTo(flow) ?? unknownNode(flow, to, "to");
	const links = { out: linksOf(tx, upstream.id), in: linksOf(tx, downstream.id) };
	for (let n = 0; n < links.out.outs; n++) {
		const edge = outEdge(tx, upstream.id, n);
		if (edge?.to !== downstream.id) continue;
		if (!isSameEdge(edge, command)) return refuse("duplicate_edge", { flowId: flow.id, from, to, edgeId: edge.id });
		return { ok: true, edgeId: edge.id, revision: flow.revision, created: false };
	}
	const closed = closedTo(flow);
	if (closed) return closed;
	if (flow.revision !== expectedRevision || flow.revision !== command.graphRevision)
		return refuse("stale_graph_revision", { flowId: flow.id, expectedRevision, revision: flow.revision });
	if (isStarted(downstream)) return alreadyStarted(flow, downstream);
	if (command.closesCycle) return refuse("cycle_detected", { flowId: flow.id, from, to });
	const { passResultAs } = command;
	if (passResultAs !== undefined && isNameTaken(tx, downstream.id, links.in.ins, passResultAs))
		return refuse("duplicate_result_name", { flowId: flow.id, to, passResultAs });

	const deed = { now, actor: command.actor };
	const step = new FlowStep(tx, flow, deed);
	connect(tx, upstream, downstream, command);
	const group = { ...downstream.member.group, edges: downstream.member.group.edges + 1 };
	const grown: Member = { ...downstream.member, group, hasLinks: true };
	if (passResultAs !== undefined) grown.hasParents = true;
	regroup(step, downstream, grown);
	step.amend({ edges: flow.edges + 1, revision: flow.revision + 1 });
	step.tell({ type: "edge_added", edgeId: command.edgeId, from, to, on: command.on });
	if (hasEnded(upstream)) resolveAtOnce(step, upstream.id);
	step.write();
	return { ok: true, edgeId: command.edgeId, revision: step.flow.revision, created: true };
}

/** Writes an edge at both of its ends. */
function connect(tx: Tx, upstream: ExecutionRecord, downstream: ExecutionRecord, command: AddEdgeCommand): void {
	const { edgeId: id, on, passResultAs } = command;
	const name = passResultAs === undefined ? undefined : { passResultAs };
	const { outs } = linksOf(tx, upstream.id);
	const { ins } = linksOf(tx, downstream.id);
	putOutEdge(tx, upstream.id, outs, { id, to: downstream.id, place: ins, on, ...name });
	tx.put(linksKey(upstream.id), amend(linksOf(tx, upstream.id), { outs: outs + 1 }));
	putInEdge(tx, downstream.id, ins, { from: upstream.id, ...name });
	tx.put(linksKey(downstream.id), amend(linksOf(tx, downstream.id), { ins: ins + 1 }));
	const { member } = upstream;
	if (member && !member.hasLinks)
		tx.put(executionKey(upstream.id), amendExecution(upstream, { member: { ...member, hasLinks: true } }));
}

/** The last edge of an upstream that had ended before it was added. */
function resolveAtOnce(step: FlowStep, upstreamId: string): void {
	const { tx } = step;
	const upstream = tx.get(executionKey(upstreamId));
	const { outs, resolveFrom } = linksOf(tx, upstreamId);
	const edge = outEdge(tx, upstreamId, outs - 1);
	// What is still being gone through comes by here.
	if (!upstream || !edge || resolveFrom >= 0) return;
	const state = edgeStateAfter(edge.on, endOf(upstream));
	const cascade = new Cascade(step);
	cascade.resolved(upstream, edge, state);
	if (state === "satisfied") cascade.heeded(upstream);
	cascade.run();
}

const isNameTaken = (tx: Tx, executionId: string, ins: number, name: string): boolean => {
	for (let n = 0; n < ins; n++) if (inEdge(tx, executionId, n)?.passResultAs === name) return true;
	return false;
};

export interface SetGroupCommand extends FlowTarget {
	op: "setGroup";
	node: string;
	group: GivenGroup;
	actor: string;
}

export type SetGroupOutcome = Outcome<{ revision: number }>;

export function setGroup(tx: Tx, command: SetGroupCommand, now: number): SetGroupOutcome {
	const flow = findFlow(tx, command);
	if (!flow) return flowNotFound(command);
	const record = memberAt(tx, flow, command.node);
	if (!record?.member) return closedTo(flow) ?? unknownNode(flow, command.node, "node");
	const { edges, satisfied, impossible } = record.member.group;
	const group: Group = { ...command.group, edges, satisfied, impossible };
	if (isSameGroup(group, record.member.group)) return { ok: true, revision: flow.revision };
	const closed = closedTo(flow);
	if (closed) return closed;
	if (isStarted(record)) return alreadyStarted(flow, record);
	const step = new FlowStep(tx, flow, { now, actor: command.actor });
	regroup(step, record, { ...record.member, group });
	step.amend({ revision: flow.revision + 1 });
	step.write();
	return { ok: true, revision: step.flow.revision };
}

const isSameGroup = (a: Group, b: Group): boolean =>
	a.policy === b.policy && a.quorum === b.quorum && a.cancelsRemaining === b.cancelsRemaining;

/** Gives a member that nobody has claimed another group: it may have to wait now, or need not any more. */
function regroup(step: FlowStep, record: ExecutionRecord, member: Member): void {
	const { tx, deed } = step;
	const before = record.member?.group ?? noGroup;
	step.amend({
		unreachable: step.flow.unreachable + Number(isUnreachable(member.group)) - Number(isUnreachable(before)),
	});
	const [was, is] = [isSatisfied(before), isSatisfied(member.group)];
	if (was === is) tx.put(executionKey(record.id), amendExecution(record, { member }));
	else if (is) stopWaiting(tx, record, member, deed);
	else startWaiting(tx, record, member, deed);
	// What its upstreams still do is of no more use to it.
	if (is && member.group.cancelsRemaining && member.hasLinks) putTasks(step, record.id, { remainingFrom: 0 });
}

export interface SealFlowCommand extends FlowTarget {
	op: "sealFlow";
	actor: string;
}

export type SealFlowOutcome = Outcome<{ revision: number }>;

export function sealFlow(tx: Tx, command: SealFlowCommand, now: number): SealFlowOutcome {
	const flow = findFlow(tx, command);
	if (!flow) return flowNotFound(command);
	if (flow.isSealed) return { ok: true, revision: flow.revision };
	if (flow.unreachable > 0) return refuse("quorum_unreachable", { flowId: flow.id, groups: flow.unreachable });
	const step = new FlowStep(tx, flow, { now, actor: command.actor });
	// Only what had ended can have made a group impossible.
	const sealFrom = step.progress.ended > 0 ? 1 : 0;
	step.amend({ isSealed: true, revision: flow.revision + 1, sealFrom });
	step.tell({ type: "sealed", nodes: flow.nodes, edges: flow.edges });
	endIfOver(step);
	step.write();
	return { ok: true, revision: step.flow.revision };
}

/** Why a flow takes no more members, edges and groups. */
function closedTo({ id, cancel, outcome, isSealed }: FlowRecord): Refusal | undefined {
	if (cancel) return refuse("flow_cancelled", { flowId: id });
	if (outcome !== "") return refuse("flow_already_terminal", { flowId: id, state: outcome });
	return isSealed ? refuse("flow_sealed", { flowId: id }) : undefined;
}

const unknownNode = ({ id: flowId }: FlowRecord, node: string, field: string): Refusal =>
	refuse("unknown_node", { flowId, field, node });

/** The member of a node; that of a flow which was sealed when it was made is not found by its key. */
const memberAt = (tx: Tx, flow: FlowRecord, node: string): ExecutionRecord | undefined => {
	const known: FlowNodeRecord | undefined = tx.get(flowNodeKey(flow.id, node));
	return known && tx.get(executionKey(known.executionId));
};

/** Claimed, about to be, or over. */
const isStarted = ({ attempt, hold, grant, lifecyclePhase }: ExecutionRecord): boolean =>
	attempt !== null || hold !== null || grant !== null || lifecyclePhase === "terminal";

const alreadyStarted = ({ id }: FlowRecord, { member, id: executionId }: ExecutionRecord): Refusal =>
	refuse("node_already_started", { flowId: id, node: member?.key, executionId });
