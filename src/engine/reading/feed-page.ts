import type { AnyEvent } from "../../kernel/events.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { type LoggedEvent, TIME_TOLERANCE_MS } from "../../store/port.ts";
import { mayBeTrimmed, readTrimMark } from "../duties/event-trimmer.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { cursorExpired } from "./cursor.ts";
import type { FeedPosition } from "./feed-cursor.ts";

/** How much is read ahead for one page, over all partitions. */
const READ_AHEAD = 2000;
const MOST_AT_ONCE = 256;
const LEAST_AT_ONCE = 8;
/** How long it is believed that a partition's last commit is still there: readers at the end do not each ask for it. */
const END_TRUST_MS = 1000;

/** The last commit of a partition, and when that was asked. */
const ends = new WeakMap<PartitionRunner, { commit: number; at: number }>();

export interface FeedPage {
	events: AnyEvent[];
	positions: FeedPosition[];
	/** More lies behind this page. */
	more: boolean;
}

/** The next events of a namespace over all partitions, merged by their time. Within a partition their order is exact. */
export async function readFeedPage(
	runners: readonly PartitionRunner[],
	kernel: Kernel,
	request: { positions: readonly FeedPosition[]; namespace: string; limit: number },
	decode: (event: LoggedEvent) => AnyEvent | undefined,
): Promise<FeedPage> {
	const { positions, namespace, limit } = request;
	const fair = Math.max(LEAST_AT_ONCE, Math.floor(READ_AHEAD / runners.length));
	const page = Math.min(MOST_AT_ONCE, fair, limit);
	const logs = runners.map((runner, n) => new PartitionLog(runner, positions[n] as FeedPosition, namespace, page));
	const events: AnyEvent[] = [];
	// What cannot be read is passed by, and counts: a call goes over no more than it may return.
	for (let passed = 0; passed < limit; passed++) {
		// What an unread log holds may come before everything the others have.
		await Promise.all(logs.filter((log) => log.isUnread).map((log) => log.load()));
		const earliest = logs.reduce((best, log) =>
			(log.head?.at ?? Infinity) < (best.head?.at ?? Infinity) ? log : best,
		);
		if (!earliest.head) break;
		const event = decode(earliest.take());
		if (event) events.push(event);
	}
	return {
		events,
		// The marks are read after the events: what was let go while they were read shows in them.
		positions: await Promise.all(logs.map((log) => log.position(kernel))),
		more: logs.some((log) => log.isUnread || log.head !== undefined),
	};
}

/** One partition's log on its way past a reader. */
class PartitionLog {
	readonly #runner: PartitionRunner;
	readonly #from: FeedPosition;
	readonly #namespace: string;
	readonly #page: number;
	#entries: LoggedEvent[] = [];
	#next = 0;
	#taken: LoggedEvent | undefined;
	#complete = false;
	#readAt = 0;

	constructor(runner: PartitionRunner, from: FeedPosition, namespace: string, page: number) {
		this.#runner = runner;
		this.#from = from;
		this.#namespace = namespace;
		this.#page = page;
	}

	/** Nothing of what is known is left, and there may be more. */
	get isUnread(): boolean {
		return !this.head && !this.#complete;
	}

	get head(): { at: number } | undefined {
		const next = this.#entries[this.#next];
		// One whose time cannot be read is due at once, or nobody would ever get past it.
		return next && { at: timeOf(next) ?? 0 };
	}

	/** Reads on behind what was taken. */
	async load(): Promise<void> {
		const after = this.#taken ?? this.#from;
		const { events } = await this.#runner.ask((store, partition) =>
			store.events(partition, this.#namespace, undefined, { commit: after.commit, index: after.index }, this.#page),
		);
		// What is appended from now on is younger than this, but for what engines' clocks may differ by.
		this.#readAt = this.#runner.time.now();
		this.#entries = events;
		this.#next = 0;
		this.#complete = events.length < this.#page;
		if (events.length === 0) await this.#checkEnd();
	}

	take(): LoggedEvent {
		this.#taken = this.#entries[this.#next++] as LoggedEvent;
		return this.#taken;
	}

	/** Where the reader goes on; refused when something it had not read yet may be gone. */
	async position(kernel: Kernel): Promise<FeedPosition> {
		const { since } = this.#from;
		const isOld = mayBeTrimmed(since, this.#runner.time.now());
		const trimmedBefore = isOld ? await readTrimMark(this.#runner, kernel) : this.#from.trimmedBefore;
		if (trimmedBefore > this.#from.trimmedBefore && since < trimmedBefore) throw cursorExpired();
		const { commit, index } = this.#taken ?? this.#from;
		const next = this.#entries[this.#next] ?? (this.#complete ? undefined : this.#taken);
		const at = next ? timeOf(next) : this.#readAt;
		return { commit, index, since: at === undefined ? since : Math.max(0, at - TIME_TOLERANCE_MS), trimmedBefore };
	}

	/** A position behind the end was taken in another store, or before this one was put back to an earlier state. */
	async #checkEnd(): Promise<void> {
		if (this.#taken) return;
		const at = this.#runner.time.now();
		const known = ends.get(this.#runner);
		if (known && at - known.at < END_TRUST_MS && this.#from.commit <= known.commit) return;
		const { commit } = await this.#runner.ask((store, partition) => store.lastCommit(partition));
		if (this.#from.commit > commit) throw cursorExpired();
		ends.set(this.#runner, { commit, at });
	}
}

const timeOf = ({ at }: LoggedEvent): number | undefined => (Number.isFinite(at) ? at : undefined);
