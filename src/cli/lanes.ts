import type { Backend } from "../contract/backend.ts";
import { nearestName } from "../contract/nearest-name.ts";
import type { LaneView } from "../contract/replies.ts";
import { canAsk, isConfirmed } from "./asking.ts";
import type { CommandContext } from "./command-context.ts";
import { MisuseError } from "./exit-codes.ts";
import { allPages, WHOLE_PAGE } from "./pages.ts";

type Tenant = { namespace?: string };

export function allLanes(backend: Backend, tenant: Tenant): Promise<LaneView[]> {
	return allPages(async (cursor) => {
		const page = await backend.lanes.list({ ...tenant, ...cursor, limit: WHOLE_PAGE });
		return { rows: page.lanes, nextCursor: page.nextCursor };
	});
}

/**
 * A lane as it is before it is changed. One that nobody has used is probably misspelt, and the lane that was meant
 * would go on as before: so a person is asked, and a script must say --yes. `no` when the person said no.
 */
export async function knownLane(
	context: CommandContext,
	backend: Backend,
	lane: string,
	{ namespace, yes, json }: Tenant & { yes?: boolean; json?: boolean },
): Promise<LaneView | "no" | undefined> {
	const all = await allLanes(backend, namespace === undefined ? {} : { namespace });
	const found = all.find((each) => each.lane === lane);
	if (found || yes) return found;
	const known = all.map((each) => each.lane);
	const meant = known.length === 0 ? "" : `; the nearest is ${nearestName(lane, known)}`;
	const problem = `there is no lane ${lane} in namespace ${namespace ?? "default"}${meant}`;
	if (json || !canAsk(context)) throw new MisuseError(`${problem}; --yes goes on all the same`);
	context.terminal.note(`${problem[0]?.toUpperCase()}${problem.slice(1)}.`);
	if (await isConfirmed(context, "Go on all the same?")) return undefined;
	context.terminal.note("Nothing was done.");
	context.end("stopped");
	return "no";
}
