import type { Command } from "commander";
import type { ListRequest } from "../contract/executions.ts";
import { PUBLIC_STATES } from "../kernel/state.ts";
import { oneTagFlag, timeFlag } from "./flag-values.ts";

/** What executions are chosen by, in a list and for what is done to many at once. */
export type Filter = Omit<ListRequest, "limit" | "cursor">;

export interface FilterFlags {
	namespace?: string;
	lane?: string;
	state?: NonNullable<Filter["state"]>;
	kind?: string;
	flow?: string;
	parent?: string;
	tag?: string;
	createdAfter?: number;
	createdBefore?: number;
}

export function withFilter(command: Command): Command {
	return command
		.option("--namespace <namespace>", "of this tenant")
		.option("--lane <lane>", "in this lane")
		.option("--state <state>", `in this state: ${PUBLIC_STATES.join(", ")}`)
		.option("--kind <kind>", "of this kind")
		.option("--flow <id>", "members of this flow")
		.option("--parent <id>", "children of this execution")
		.option("--tag <key=value>", "with this tag", oneTagFlag)
		.option("--created-after <time>", "created then or later: a time, or an age such as 2h", timeFlag)
		.option("--created-before <time>", "created before then", timeFlag);
}

export function filterOf(flags: FilterFlags): Filter {
	const { namespace, lane, state, kind, flow, parent, tag, createdAfter, createdBefore } = flags;
	return {
		...(namespace === undefined ? undefined : { namespace }),
		...(lane === undefined ? undefined : { lane }),
		...(state === undefined ? undefined : { state }),
		...(kind === undefined ? undefined : { kind }),
		...(flow === undefined ? undefined : { flowId: flow }),
		...(parent === undefined ? undefined : { parentId: parent }),
		...(tag === undefined ? undefined : { tag }),
		...(createdAfter === undefined ? undefined : { createdAfter }),
		...(createdBefore === undefined ? undefined : { createdBefore }),
	};
}
