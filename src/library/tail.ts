import type { Backend } from "../contract/backend.ts";
import type { FrameView } from "../contract/replies.ts";

/** Where to begin, and when to stop. */
export interface TailOptions {
	/** The attempt to begin with; the first when left out. */
	attempt?: number;
	/** In that attempt, behind this frame; `end` for what comes from now on. */
	after?: string;
	signal?: AbortSignal;
}

/** A frame, and whether an attempt begins with it that follows another. */
export interface TailedFrame extends FrameView {
	isNewAttempt?: true;
}

/** Follows the streams of an execution, one attempt after the other, until it has ended. */
export async function* tailOf(
	{ streams, executions }: Pick<Backend, "streams" | "executions">,
	id: string,
	{ attempt: first = 0, after, signal }: TailOptions,
): AsyncGenerator<TailedFrame> {
	for (let attempt = first; !signal?.aborted; attempt++) {
		let isNew = attempt > first;
		const from = attempt === first && after !== undefined ? { after } : {};
		for await (const { frames } of streams.follow(id, attempt, { ...from, ...(signal ? { signal } : undefined) })) {
			for (const frame of frames) {
				yield isNew ? { ...frame, isNewAttempt: true } : frame;
				isNew = false;
			}
		}
		if (signal?.aborted) return;
		const { state, attempt: current } = await executions.get(id);
		if (state.lifecyclePhase === "terminal" && (current?.index ?? 0) <= attempt) return;
	}
}
