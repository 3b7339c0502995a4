import type { ExecutionEvent } from "../kernel/events.ts";
import type { FlowFabric } from "../library/flowfabric.ts";

const PAGE = 200;
const LOOK_MS = 20_000;

/** Everything that happened to an execution so far, oldest first; with `follow`, everything until it has ended. */
export async function* historyOf(
	{ backend: { executions } }: Pick<FlowFabric, "backend">,
	id: string,
	{ follow, signal }: { follow: boolean; signal?: AbortSignal },
): AsyncGenerator<ExecutionEvent> {
	let cursor: string | undefined;
	while (!signal?.aborted) {
		// Asked before its events are read: all that an ended execution had to say is then among them.
		const over = !follow || (await executions.get(id)).state.lifecyclePhase === "terminal";
		const page = await executions.events(
			id,
			{
				limit: PAGE,
				...(over ? undefined : { waitMs: LOOK_MS }),
				...(cursor === undefined ? undefined : { cursor }),
			},
			signal,
		);
		yield* page.events;
		cursor = page.nextCursor;
		if (over && page.events.length === 0) return;
	}
}
