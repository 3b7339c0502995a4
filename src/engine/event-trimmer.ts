import { refusalError } from "../contract/errors.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { EVENT_LOG_KEY, type EventLogRecord } from "../kernel/records/event-log.ts";
import type { NoteTrimOutcome } from "../kernel/rules/note-trim.ts";
import type { PartitionRunner } from "./partition-runner.ts";

const EVENT_RETENTION_MS = 86_400_000;

/**
 * Events are let go in steps of whole hours, the same ones in every partition: a reader's cursor names hours, and one
 * that reads old history has an hour between two trims, not minutes.
 */
export const TRIM_STEP_MS = 3_600_000;

/**
 * Lets go of events that are older than a day and whose execution is gone. What will be gone is noted first: a reader who
 * comes back with an older cursor can then be told, even if this engine dies in between.
 */
export async function trimEvents(runner: PartitionRunner, kernel: Kernel): Promise<number> {
	const trimmedBefore = await readTrimMark(runner, kernel);
	const before = Math.floor((runner.time.now() - EVENT_RETENTION_MS) / TRIM_STEP_MS) * TRIM_STEP_MS;
	if (before <= trimmedBefore) return 0;
	const { events } = await runner.ask((store, partition) => store.events(partition, undefined, undefined, 1));
	if ((events[0]?.at ?? before) >= before) return 0;
	const noted = await runner.run<NoteTrimOutcome>({ op: "noteTrim", before } as { op: string });
	if (!noted.ok) throw refusalError(noted);
	const { trimmed } = await runner.ask((store, partition) => store.trimEvents(partition, before));
	return trimmed;
}

/** The time before which events of this partition may be gone. */
export async function readTrimMark(runner: PartitionRunner, kernel: Kernel): Promise<number> {
	const { records } = await runner.ask((store, partition) => store.read(partition, [EVENT_LOG_KEY]));
	const [stored] = records;
	if (!stored || stored.version === 0) return 0;
	return (kernel.decode(EVENT_LOG_KEY, stored.doc) as EventLogRecord).trimmedBefore;
}
