import type { Backend } from "../contract/backend.ts";
import { FlowFabricError } from "../contract/errors.ts";
import type { FrameView } from "../contract/replies.ts";

/** Where to begin, and when to stop. */
export interface TailOptions {
	/** The attempt to begin with, from 0 (0). */
	attempt?: number;
	/** In that attempt, behind this frame; `end` for what comes from now on (`start`). */
	after?: string;
	/** Stops following (none). */
	signal?: AbortSignal;
}

/** A frame, and whether an attempt begins with it that follows another. */
export interface TailedFrame extends FrameView {
	/** An attempt begins with it that follows another: what came before is of a run that did not end well. */
	isNewAttempt?: true;
}

/** Follows the streams of an execution, one attempt after the other, until it has ended. */
export async function* tailOf(
	{ streams, executions }: Pick<Backend, "streams" | "executions">,
	id: string,
	{ attempt: named, after, signal }: TailOptions,
): AsyncGenerator<TailedFrame> {
	const first = named ?? 0;
	for (let attempt = first; !signal?.aborted; attempt++) {
		let isNew = attempt > first;
		const options = {
			...(attempt === first && after !== undefined ? { after } : undefined),
			...(signal ? { signal } : undefined),
		};
		try {
			for await (const { frames } of streams.follow(id, attempt, options)) {
				for (const frame of frames) {
					yield isNew ? { ...frame, isNewAttempt: true } : frame;
					isNew = false;
				}
			}
		} catch (error) {
			// It ended before this attempt began.
			if (isNotThere(error) && attempt !== named) return;
			throw error;
		}
		if (signal?.aborted) return;
		const { state, attempt: current } = await executions.get(id);
		if (state.lifecyclePhase === "terminal" && (current?.index ?? 0) <= attempt) return;
	}
}

const isNotThere = (error: unknown): boolean => error instanceof FlowFabricError && error.code === "attempt_not_found";
