import type { Filter } from "../filter-flags.ts";
import { when } from "./times.ts";

/** `execution in lane media that is failed, with tag customer:acme`: all of a filter, and nothing but it. */
export function filterInWords(filter: Filter, now: number): string {
	const { namespace, lane, state, kind, flowId, parentId, tag, createdAfter, createdBefore } = filter;
	const parts = [
		kind === undefined ? "" : `of kind ${kind}`,
		lane === undefined ? "" : `in lane ${lane}`,
		namespace === undefined ? "" : `of namespace ${namespace}`,
		state === undefined ? "" : `in state ${String(state).split(",").join(" or ")}`,
		flowId === undefined ? "" : `of flow ${flowId}`,
		parentId === undefined ? "" : `that is a child of ${parentId}`,
		tag === undefined ? "" : `with tag ${tag.replace(":", "=")}`,
		createdAfter === undefined ? "" : `created since ${when(createdAfter, now)}`,
		createdBefore === undefined ? "" : `created before ${when(createdBefore, now)}`,
	];
	return ["execution", ...parts.filter(Boolean)].join(" ");
}
