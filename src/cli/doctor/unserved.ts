import type { Execution } from "../../contract/replies.ts";
import { WorkersFor } from "../../kernel/serving.ts";
import type { FlowFabric } from "../../library/flowfabric.ts";
import { oneLine } from "../format/text.ts";
import { allPages, WHOLE_PAGE } from "../pages.ts";
import { MOST_SAMPLES, more } from "./tally.ts";

/** Executions looked at for each reason: enough to see what is wrong, however long the queue. */
const MOST_LOOKED_AT = 10_000;

/** Work of the same lane, kind and capabilities. */
interface WorkGroup extends Pick<Execution, "lane" | "kind"> {
	count: number;
	workers: WorkersFor;
}

/** Says which work waits for a worker although none who is there takes it, the most first. */
export async function unservedProblems({ backend }: Pick<FlowFabric, "backend">): Promise<string[]> {
	const groups = new Map<string, WorkGroup>();
	for (const reason of ["waiting_for_worker", "waiting_for_capable_worker"] as const) {
		let looked = 0;
		let cursor: { cursor?: string } = {};
		while (looked < MOST_LOOKED_AT) {
			const { executions, nextCursor } = await backend.executions.list({ reason, limit: WHOLE_PAGE, ...cursor });
			for (const execution of executions) add(groups, execution);
			looked += executions.length;
			if (nextCursor === undefined) break;
			cursor = { cursor: nextCursor };
		}
	}
	if (groups.size === 0) return [];
	const live = await allPages(async (cursor) => {
		const { workers, nextCursor } = await backend.workers.list({ limit: WHOLE_PAGE, ...cursor });
		return { rows: workers, nextCursor };
	});
	for (const { workers } of groups.values()) {
		for (const { lanes, capabilities, kinds = null } of live) {
			if (workers.able > 0) break;
			workers.see({ lanes, capabilities, kinds });
		}
	}
	const unserved = [...groups.values()].filter(({ workers }) => workers.lack !== undefined);
	unserved.sort((a, b) => b.count - a.count);
	return [
		...unserved.slice(0, MOST_SAMPLES).map(describe),
		...more("kinds of work that nobody takes", unserved.length - MOST_SAMPLES),
	];
}

function add(groups: Map<string, WorkGroup>, work: Execution): void {
	const { lane, kind, requiredCapabilities } = work;
	const name = JSON.stringify([lane, kind, requiredCapabilities]);
	const known = groups.get(name);
	if (known) known.count += 1;
	else groups.set(name, { lane, kind, count: 1, workers: new WorkersFor(work) });
}

function describe({ lane, kind, count, workers }: WorkGroup): string {
	const waiting = `${count} ${count === 1 ? "execution of kind" : "executions of kind"} ${kind}`;
	return oneLine(`${waiting} ${count === 1 ? "waits" : "wait"} on lane ${lane}: ${workers.lack}`);
}
