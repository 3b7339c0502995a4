import type { FollowOptions } from "../../contract/backend.ts";
import { eventsRequest } from "../../contract/executions.ts";
import type { FollowedEvent } from "../../contract/replies.ts";
import type { ExecutionEvent } from "../../kernel/events.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { hasEnded } from "../../kernel/state.ts";
import type { LoggedEvent, LogPosition } from "../../store/port.ts";
import { ProgressTeller } from "./progress-teller.ts";
import type { Session } from "./session.ts";
import { watch } from "./watching.ts";

const PAGE = 100;

/** The events of an execution as they come, until it has ended and all of them were told. */
export async function* followExecution(
	session: Session,
	id: string,
	{ signal, onProgress, ...request }: FollowOptions,
): AsyncGenerator<FollowedEvent> {
	const { cursor } = eventsRequest.check(request);
	const { cursors } = session.engine;
	let after = await placeInHistory(session, id, cursor);
	const patience = { timeoutMs: Number.POSITIVE_INFINITY, signal };
	const progress = onProgress && new ProgressTeller(session.engine.clock, onProgress);
	try {
		for (let isOver = false; !isOver && !signal?.aborted; ) {
			const { record, events } = await watch(session, session.watched(id), patience, async () => {
				const look = await eventsAfter(session, id, after, PAGE);
				progress?.saw(look.record, look.now);
				return look.events.length > 0 || hasEnded(look.record) || signal?.aborted ? look : undefined;
			});
			const decoded = await Promise.all(
				events.map(async (logged) => ({
					cursor: await cursors.atEvent(historyOf(id), logged),
					event: session.decodeReadableEvent(logged) as ExecutionEvent | undefined,
				})),
			);
			// The record was read first: when it had ended and nothing is behind its last event, that is all there is.
			const isLast = decoded.length === 0 || decoded.at(-1)?.event?.seq === record.events;
			isOver = hasEnded(record) && isLast;
			if (isOver) progress?.flush();
			for (const { cursor: at, event } of decoded) if (event) yield { cursor: at, event };
			after = events.at(-1) ?? after;
		}
	} finally {
		progress?.stop();
	}
}

/** What the cursors of its events point into. */
export const historyOf = (id: string): string => `history of ${id}`;

/** Where a cursor leads to. What the caller may not see is not there, whoever the cursor was given to. */
export async function placeInHistory(
	session: Session,
	id: string,
	cursor: string | undefined,
): Promise<LogPosition | undefined> {
	try {
		return await session.engine.cursors.afterEvent(historyOf(id), cursor);
	} catch (error) {
		await session.read(id);
		throw error;
	}
}

/** Read after the execution itself, so that what was deleted has no events left to show. */
export async function eventsAfter(
	session: Session,
	id: string,
	after: LogPosition | undefined,
	limit: number,
): Promise<{ record: ExecutionRecord; events: LoggedEvent[]; now: number }> {
	const { record, runner } = await session.read(id);
	const { namespace } = record;
	const { events } = await runner.ask((store, partition) => store.events(partition, namespace, id, after, limit));
	return { record, events, now: runner.time.now() };
}
