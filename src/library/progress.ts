import type { Backend } from "../contract/backend.ts";
import type { ProgressNotice } from "../contract/replies.ts";

/** How far an execution is, whenever that changes, until it has ended; whoever is slow to take it gets the latest. */
export async function* progressOf(
	{ executions }: Pick<Backend, "executions">,
	id: string,
	signal: AbortSignal | undefined,
): AsyncGenerator<ProgressNotice> {
	const left = new AbortController();
	let latest: ProgressNotice | undefined;
	let isOver = false;
	let wake = () => {};
	const follow = async () => {
		const options = {
			signal: signal ? AbortSignal.any([signal, left.signal]) : left.signal,
			onProgress(progress: ProgressNotice) {
				latest = progress;
				wake();
			},
		};
		for await (const _ of executions.follow(id, options));
	};
	const following = follow().finally(() => {
		isOver = true;
		wake();
	});
	// Thrown below, unless nobody listens any more.
	following.catch(() => {});
	try {
		for (;;) {
			const next = latest;
			latest = undefined;
			if (next) yield next;
			else if (isOver) return await following;
			else await new Promise<void>((resolve) => (wake = resolve));
		}
	} finally {
		left.abort();
	}
}
