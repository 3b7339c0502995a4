import type { Filter } from "../filter-flags.ts";
import { when } from "./times.ts";

/** `execution of kind report in lane media in state failed`: all of a filter, and nothing but it. */
export function filterInWords(filter: Filter, now: number): string {
	const { namespace, lane, state, kind, flowId, parentId, tag, createdAfter, createdBefore, reason, idempotencyKey } =
		filter;
	const parts = [
		kind === undefined ? "" : `of kind ${kind}`,
		lane === undefined ? "" : `in lane ${lane}`,
		namespace === undefined ? "" : `of namespace ${namespace}`,
		state === undefined ? "" : `in state ${[state].flat().join(" or ")}`,
		reason === undefined ? "" : `blocked by ${reason}`,
		idempotencyKey === undefined ? "" : `submitted under key ${idempotencyKey}`,
		flowId === undefined ? "" : `of flow ${flowId}`,
		parentId === undefined ? "" : `that is a child of ${parentId}`,
		tag === undefined ? "" : `with tag ${tag.replace(":", "=")}`,
		createdAfter === undefined ? "" : `created since ${when(createdAfter, now)}`,
		createdBefore === undefined ? "" : `created before ${when(createdBefore, now)}`,
	];
	return ["execution", ...parts.filter(Boolean)].join(" ");
}
