import type { Command } from "commander";
import type { ListRequest } from "../contract/executions.ts";
import { STATE_NAMES, type StateName } from "../kernel/state-filter.ts";
import { oneTagFlag, timeFlag } from "./flag-values.ts";

/** What executions are chosen by, in a list and for what is done to many at once. */
export type Filter = Omit<ListRequest, "limit" | "cursor">;

export interface FilterFlags {
	namespace?: string;
	lane?: string;
	state?: StateName[];
	/** `--reason` of a list; a cancel has a reason of its own. */
	blockingReason?: NonNullable<Filter["reason"]>;
	key?: string;
	kind?: string;
	flow?: string;
	parent?: string;
	tag?: string;
	createdAfter?: number;
	createdBefore?: number;
}

export function withFilter(command: Command): Command {
	return command
		.option("--namespace <namespace>", "in this namespace")
		.option("--lane <lane>", "in this lane")
		.option("--state <states>", `in one of these states, comma-separated: ${STATE_NAMES.join(", ")}`, statesFlag)
		.option("--kind <kind>", "of this kind")
		.option("--flow <id>", "members of this flow")
		.option("--parent <id>", "children of this execution")
		.option("--key <key>", "submitted under this idempotency key")
		.option("--tag <key=value>", "with this tag", oneTagFlag)
		.option("--created-after <time>", "created then or later: a time, or an age such as 2h", timeFlag)
		.option("--created-before <time>", "created before then", timeFlag);
}

/** Which names there are is for the server to say: it may know more of them. */
const statesFlag = (text: string): StateName[] => text.split(",").map((name) => name.trim() as StateName);

export function filterOf(flags: FilterFlags): Filter {
	const { namespace, lane, state, kind, flow, parent, tag, createdAfter, createdBefore, key, blockingReason } = flags;
	return {
		...(namespace === undefined ? undefined : { namespace }),
		...(lane === undefined ? undefined : { lane }),
		...(state === undefined ? undefined : { state }),
		...(blockingReason === undefined ? undefined : { reason: blockingReason }),
		...(key === undefined ? undefined : { idempotencyKey: key }),
		...(kind === undefined ? undefined : { kind }),
		...(flow === undefined ? undefined : { flowId: flow }),
		...(parent === undefined ? undefined : { parentId: parent }),
		...(tag === undefined ? undefined : { tag }),
		...(createdAfter === undefined ? undefined : { createdAfter }),
		...(createdBefore === undefined ? undefined : { createdBefore }),
	};
}
