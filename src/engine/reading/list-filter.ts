import type { ListRequest } from "../../contract/executions.ts";
import { stateAt } from "../../kernel/reading.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { type BlockingReason, type PublicState, publicState } from "../../kernel/state.ts";
import { type StateName, statesNamed, statesWithReason } from "../../kernel/state-filter.ts";
import { hasTag } from "../../kernel/tags.ts";
import { isFor } from "../../kernel/target.ts";
import type { Session } from "../calls/session.ts";
import { type Found, lanesBeside } from "./showing.ts";

/** What a list is narrowed by. */

export type Filter = Omit<ListRequest, "limit" | "cursor">;

export interface Search extends Omit<Filter, "namespace" | "state" | "tag"> {
	/** Undefined for those of all that the caller may see. */
	namespace: string | undefined;
	/** Undefined for all. */
	states: ReadonlySet<PublicState> | undefined;
	tag: [key: string, value: string] | undefined;
}

export function searchOf(session: Session, { namespace: named, state, tag, ...rest }: Filter): Search {
	const { flowId, parentId, idempotencyKey } = rest;
	// A flow, and a parent, say by themselves where they are. A key means nothing without its namespace.
	const isEnough = (flowId ?? parentId) !== undefined && idempotencyKey === undefined && named === undefined;
	const namespace = isEnough ? session.caller.namespace : session.namespaceFor(named);
	return { ...rest, namespace, states: statesFor(state, rest.reason), tag: splitTag(tag) };
}

/** States that both the states asked for and the reason allow. */
function statesFor(state: Filter["state"], reason: BlockingReason | undefined): ReadonlySet<PublicState> | undefined {
	const named = state === undefined ? undefined : statesNamed(namesIn(state));
	const possible = reason === undefined ? undefined : statesWithReason(reason);
	if (!named || !possible) return named ?? possible;
	return new Set([...named].filter((each) => possible.has(each)));
}

/** In a query they are one text, with commas between them. */
const namesIn = (state: NonNullable<Filter["state"]>): readonly StateName[] =>
	typeof state === "string" ? (state.split(",") as StateName[]) : state;

function splitTag(tag: string | undefined): [key: string, value: string] | undefined {
	if (tag === undefined) return undefined;
	const colon = tag.indexOf(":");
	return [tag.slice(0, colon), tag.slice(colon + 1)];
}

/**
 * What of this is searched for, the rest undefined. That a paused lane holds work back is not written on the work, so a
 * search by reason looks at the lanes too; whoever shows it is to show it under the same copy.
 */
export async function matching(
	session: Session,
	search: Search,
	found: readonly (Found | undefined)[],
): Promise<(Found | undefined)[]> {
	const fitting = found.map((each) => (each && matches(each.record, search) ? each : undefined));
	const { reason } = search;
	if (reason === undefined) return fitting;
	const laneOf = await lanesBeside(
		session,
		fitting.filter((each) => each !== undefined),
	);
	return fitting.map((each) => {
		if (!each) return undefined;
		const lane = laneOf(each);
		const { blockingReason } = stateAt(each.record, lane, each.runner.time.now());
		return blockingReason === reason ? { ...each, lane } : undefined;
	});
}

function matches(record: ExecutionRecord, search: Search): boolean {
	const { states, kind, lane, flowId, parentId, idempotencyKey, createdAfter, createdBefore, tag } = search;
	return (
		isFor(record, search.namespace) &&
		(flowId === undefined || record.flowId === flowId) &&
		(parentId === undefined || record.child?.parentId === parentId) &&
		(idempotencyKey === undefined || record.idempotencyKey === idempotencyKey) &&
		// It may have moved on since its queue was read.
		(states === undefined || states.has(publicState(record))) &&
		(kind === undefined || record.kind === kind) &&
		(lane === undefined || record.lane === lane) &&
		(createdAfter === undefined || record.createdAt >= createdAfter) &&
		(createdBefore === undefined || record.createdAt < createdBefore) &&
		(tag === undefined || hasTag(record.tags, tag[0], tag[1]))
	);
}
