import { refusalError } from "../../contract/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { EVENT_LOG_KEY, type EventLogRecord } from "../../kernel/records/event-log.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import type { Scanner } from "./scanner.ts";

const EVENT_RETENTION_MS = 86_400_000;

/**
 * Events are let go in steps of whole hours, the same ones in every partition: a reader's cursor names hours, and one
 * that reads old history has an hour between two trims, not minutes.
 */
export const TRIM_STEP_MS = 3_600_000;

/** How many partitions it has never looked at are looked at in one pass. */
const FIRST_LOOKS = 32;

/**
 * Lets go of events that are older than a day and whose execution is gone. What will be gone is noted first: a reader who
 * comes back with an older cursor can then be told, even if this engine dies in between. A partition is asked once an hour.
 */
export class EventTrimmer implements Scanner {
	readonly name = "event_trimmer";
	readonly failure = "events could not be trimmed";
	readonly #runners: readonly PartitionRunner[];
	readonly #kernel: Kernel;
	/** When there may be something to let go of in a partition. */
	readonly #notBefore = new Map<number, number>();

	/** A partition that fails is told of and passed over. */
	readonly #onFailure: (error: unknown) => void;

	constructor(runners: readonly PartitionRunner[], kernel: Kernel, onFailure: (error: unknown) => void) {
		this.#runners = runners;
		this.#kernel = kernel;
		this.#onFailure = onFailure;
	}

	/** Returns how many events went. */
	async runOnce(partitions: readonly number[]): Promise<number> {
		let trimmed = 0;
		let firstLooks = 0;
		for (const partition of partitions) {
			const runner = this.#runners[partition] as PartitionRunner;
			const notBefore = this.#notBefore.get(partition);
			if (notBefore === undefined ? ++firstLooks > FIRST_LOOKS : runner.time.now() < notBefore) continue;
			try {
				trimmed += await this.#trim(runner, partition);
			} catch (error) {
				this.#onFailure(error);
			}
		}
		return trimmed;
	}

	async #trim(runner: PartitionRunner, partition: number): Promise<number> {
		const now = runner.time.now();
		const before = stepOf(now - EVENT_RETENTION_MS);
		const { at: oldest = now } = await runner.ask((store, at) => store.oldestForgotten(at));
		const trimmed = oldest < before ? await this.#trimBefore(before, runner) : 0;
		// What is forgotten later may be old already.
		this.#notBefore.set(partition, stepOf(now) + TRIM_STEP_MS);
		return trimmed;
	}

	async #trimBefore(before: number, runner: PartitionRunner): Promise<number> {
		if (before <= (await readTrimMark(runner, this.#kernel))) return 0;
		const noted = await runner.run({ op: "noteTrim", before });
		if (!noted.ok) throw refusalError(noted);
		const { trimmed } = await runner.ask((store, at) => store.trimEvents(at, before));
		return trimmed;
	}
}

const stepOf = (time: number): number => Math.floor(time / TRIM_STEP_MS) * TRIM_STEP_MS;

/** Whether what happened at that time may be gone by now. Half of the day is for clocks that differ. */
export const mayBeTrimmed = (since: number, now: number): boolean => since < now - EVENT_RETENTION_MS / 2;

/** The time before which events of this partition may be gone. */
export async function readTrimMark(runner: PartitionRunner, kernel: Kernel): Promise<number> {
	const { records } = await runner.ask((store, partition) => store.read(partition, [EVENT_LOG_KEY]));
	const [stored] = records;
	if (!stored || stored.version === 0) return 0;
	return (kernel.decode(EVENT_LOG_KEY, stored.doc) as EventLogRecord).trimmedBefore;
}
