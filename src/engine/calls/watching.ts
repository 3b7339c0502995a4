import { FlowFabricError } from "../../contract/errors.ts";
import { manyMayListen } from "../../contract/signals.ts";
import type { Session } from "./session.ts";

export interface Patience {
	/** How long to wait for an answer; without it as long as it takes. */
	timeoutMs: number;
	signal: AbortSignal | undefined;
}

/** A record, or a log, whose changes are watched for. */
export interface Watched {
	partition: number;
	subject: string;
}

/**
 * Looks at something again whenever it may have changed, until the look gives an answer; the last look, when the time
 * is over, has to give one. Whoever looks is told of every change after the look began, so none is slept through.
 */
export async function watch<T>(
	{ engine }: Session,
	{ partition, subject }: Watched,
	{ timeoutMs, signal }: Patience,
	look: (isLast: boolean) => Promise<T | undefined>,
): Promise<T> {
	if (timeoutMs === 0) {
		const answer = await look(true);
		if (answer !== undefined) return answer;
	}
	const { clock, watchers, store } = engine;
	const deadline = clock.monotonic() + timeoutMs;
	let changed = () => {};
	let change = new Promise<void>((resolve) => (changed = resolve));
	const unsubscribe = [watchers.add(subject, () => changed()), store.watch(partition, subject)];
	const abort = () => changed();
	manyMayListen(signal);
	signal?.addEventListener("abort", abort);
	try {
		for (;;) {
			const isLast = deadline - clock.monotonic() <= 0;
			const answer = await look(isLast);
			if (answer !== undefined) return answer;
			if (engine.closed) throw new FlowFabricError("shutting_down");
			signal?.throwIfAborted();
			const left = deadline - clock.monotonic();
			if (left > 0) {
				const disarm = clock.setTimer(left, () => changed());
				await change;
				disarm();
			}
			change = new Promise<void>((resolve) => (changed = resolve));
		}
	} finally {
		for (const stop of unsubscribe) stop();
		signal?.removeEventListener("abort", abort);
	}
}
