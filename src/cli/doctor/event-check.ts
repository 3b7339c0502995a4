import type { AskPartition } from "../../engine/duties/index-walk.ts";
import { decodeEvent, eventName, type StoredEvent } from "../../kernel/events.ts";
import { UnreadableRecord } from "../../kernel/unreadable.ts";
import type { LogPosition } from "../../store/port.ts";

const EVENTS_PER_PAGE = 500;

/** Reads all events of a partition, log by log: how many there are, and which of them cannot be shown. */
export async function checkEvents(
	ask: AskPartition,
	partition: number,
	onProblem: (problem: string) => void,
): Promise<number> {
	const { logs } = await ask((store, at) => store.logs(at));
	let looked = 0;
	for (const log of logs) {
		for (let after: LogPosition | undefined; ; ) {
			const { events } = await ask((store, at) => store.events(at, log, undefined, after, EVENTS_PER_PAGE));
			for (const event of events) {
				const problem = problemOfEvent(event);
				if (problem) onProblem(`${eventName(event)} in partition ${partition}: ${problem}`);
			}
			looked += events.length;
			if (events.length < EVENTS_PER_PAGE) break;
			after = events.at(-1);
		}
	}
	return looked;
}

/** Undefined for one that is in order. */
export function problemOfEvent(event: StoredEvent): string | undefined {
	try {
		decodeEvent(event);
		return undefined;
	} catch (error) {
		if (!(error instanceof UnreadableRecord)) throw error;
		const { field, problem } = error.fault;
		return field === "" ? problem : `${field} ${problem}`;
	}
}
