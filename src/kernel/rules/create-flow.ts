import type { Deed } from "../changing.ts";
import { showMembers, writePart } from "../flows/building.ts";
import { endIfOver } from "../flows/flow-end.ts";
import { FlowStep } from "../flows/flow-step.ts";
import type { FlowPart } from "../flows/planning.ts";
import { holderOf, type KeyHolder, keyConflict, keyInUse } from "../idempotency.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { DEFAULT_DEDUP_WINDOW_MS } from "../policy.ts";
import { type FlowRecord, flowKey, makeFlow } from "../records/flow.ts";
import { idempotencyKeyKey, makeIdempotencyKey } from "../records/idempotency-key.ts";
import type { Tags } from "../tags.ts";
import type { Tx } from "../tx.ts";

export interface CreateFlowCommand {
	op: "createFlow";
	flowId: string;
	kind: string;
	namespace: string;
	tags?: Tags;
	budgets?: readonly string[];
	retentionMs: number;
	idempotencyKey?: string;
	/** With a key: the hash of everything else the caller sent. */
	bodyHash?: string;
	createdBy: string;
	nodes: number;
	edges: number;
	isSealed: boolean;
	/** Groups that want more edges than they have. */
	unreachable: number;
	/** All there is of it, if that fits into one step; otherwise its parts follow. */
	whole?: FlowPart;
	actor: string;
}

/** `building` tells that another call is about to make it; `created` is false for a repeat. */
export type CreateFlowOutcome = Outcome<{
	id: string;
	revision: number;
	created: boolean;
	building: boolean;
	/** Its key is held for a member of a flow. */
	holder?: KeyHolder;
}>;

/** A flow of several parts is given up when no further part came for so long. */
const BUILD_PATIENCE_MS = 60_000;

export function createFlow(tx: Tx, command: CreateFlowCommand, now: number): CreateFlowOutcome {
	const known = command.idempotencyKey ? repeated(tx, command, now) : undefined;
	if (known) return known;
	const { whole, flowId } = command;
	const deed = { now, actor: command.actor };
	tx.getFresh(flowKey(flowId));
	const flow = newFlow(command, now);
	const step = new FlowStep(tx, flow, deed, true);
	if (whole) {
		announce(step);
		const refusal = writePart(tx, flow, whole, false, deed);
		if (refusal) return refusal;
	}
	if (command.idempotencyKey && command.bodyHash !== undefined) {
		const key = idempotencyKeyKey(command.namespace, command.idempotencyKey);
		const expiresAt = now + DEFAULT_DEDUP_WINDOW_MS;
		tx.put(key, makeIdempotencyKey({ executionId: flowId, bodyHash: command.bodyHash, expiresAt }));
	}
	if (whole) endIfOver(step);
	tx.put(flowKey(flowId), step.flow);
	step.write();
	return { ok: true, id: flowId, revision: step.flow.revision, created: true, building: !whole };
}

function newFlow(command: CreateFlowCommand, now: number): FlowRecord {
	const { flowId: id, kind, namespace, retentionMs, createdBy, actor, nodes, edges, isSealed, unreachable } = command;
	const flow = makeFlow({ id, kind, namespace, retentionMs, createdBy, createdAt: now, nodes, edges, isSealed });
	if (command.tags) flow.tags = command.tags;
	if (command.budgets) flow.budgets = command.budgets;
	if (command.idempotencyKey) flow.idempotencyKey = command.idempotencyKey;
	if (actor !== createdBy) flow.submittedBy = actor;
	flow.unreachable = unreachable;
	flow.revision = 1;
	if (!command.whole) flow.buildUntil = now + BUILD_PATIENCE_MS;
	return flow;
}

/** What the first call under the same key made. */
function repeated(tx: Tx, command: CreateFlowCommand, now: number): CreateFlowOutcome | undefined {
	const { namespace, idempotencyKey = "" } = command;
	const known = keyInUse(tx, namespace, idempotencyKey, now);
	if (!known) return undefined;
	const { bodyHash = "" } = command;
	if (known.flowId !== "") {
		const holder = holderOf(known, bodyHash);
		return { ok: true, id: known.flowId, revision: 0, created: false, building: false, holder };
	}
	const flow = known.executionId.startsWith("fl_") ? tx.get(flowKey(known.executionId)) : undefined;
	if (!flow || known.bodyHash !== bodyHash) return keyConflict(idempotencyKey, known.executionId);
	const { id, revision, buildUntil } = flow;
	return { ok: true, id, revision, created: false, building: buildUntil > 0 };
}

/** It is whole: from now on it can be seen. */
function announce(step: FlowStep): void {
	const { kind, nodes, edges, isSealed } = step.flow;
	step.tell({ type: "flow_created", kind, nodes, edges, sealed: isSealed });
}

export interface BuildFlowCommand {
	op: "buildFlow";
	flowId: string;
	part: FlowPart;
	isLast: boolean;
	actor: string;
}

/** Writes one of several parts of a flow. Nothing of it can be seen before the last. */
export function buildFlow(tx: Tx, command: BuildFlowCommand, now: number): Outcome {
	const { flowId, part, isLast } = command;
	const deed: Deed = { now, actor: command.actor };
	const flow = tx.get(flowKey(flowId));
	if (!flow || flow.removing) return refuse("flow_not_found", { flowId });
	// The last part has come already.
	if (flow.buildUntil === 0) return { ok: true };
	const refusal = writePart(tx, flow, part, true, deed);
	if (refusal) return refusal;
	const step = new FlowStep(tx, flow, deed);
	step.amend({ buildUntil: now + BUILD_PATIENCE_MS });
	if (isLast) {
		step.amend({ buildUntil: 0, unshown: flow.nodes });
		announce(step);
		endIfOver(step);
	}
	step.write();
	return { ok: true };
}

export interface ShowFlowCommand {
	op: "showFlow";
	flowId: string;
	actor: string;
}

/** Lets the next members of a flow be seen that is whole; its timer would, too. */
export function showFlow(tx: Tx, { flowId, actor }: ShowFlowCommand, now: number): Outcome<{ unshown: number }> {
	const flow = tx.get(flowKey(flowId));
	if (!flow || flow.unshown === 0) return { ok: true, unshown: 0 };
	const step = new FlowStep(tx, flow, { now, actor });
	showMembers(step);
	endIfOver(step);
	step.write();
	return { ok: true, unshown: step.flow.unshown };
}
