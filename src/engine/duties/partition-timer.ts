import type { Clock } from "../../contract/clock.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import { DUE_QUEUE } from "../../kernel/placement.ts";
import type { ScannerFilter } from "../../kernel/scanner-filter.ts";
import type { Errand } from "../../kernel/ticking.ts";
import type { Duty } from "../../kernel/timers.ts";
import type { QueuePosition } from "../../store/port.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import type { DutyRun } from "./duty-log.ts";
import type { ErrandResult } from "./errand-queue.ts";

const PAGE = 256;
const FAILURES_BEFORE_PARKING = 3;
const PARKED_MS = 60_000;
const RETRY_MS = 1000;
/** What another engine runs is its own for this long after its time. */
const OTHERS_FIRST_MS = 3000;

/** What is for engines with another scannerFilter is looked at again after this long: it may have come to be for this one. */
const OUTSIDE_MS = 60_000;
/** How much of that is remembered. */
const MOST_OUTSIDE = 10_000;

/** How far ahead it is vouched for what is due: for so long two may run a partition after it has changed hands. */
const VOUCHED_MS = 60_000;

/** A timer that is late by no more than this is not set anew. */
const CLOSE_MS = 5;

/** How long nothing is heard of what another engine adds behind an item that is held back. */
const HELD_BACK_MS = 500;

export interface PartitionTimerOptions {
	runner: PartitionRunner;
	/** Whether other engines may add to what is due. A notice tells only of what becomes the first in the line. */
	shared: boolean;
	clock: Clock;
	/** What this engine's scanners are restricted to; left out when they are not. */
	scannerFilter?: ScannerFilter | undefined;
	random: () => number;
	/** Told after a pass what it did, by duty. */
	onPass(pass: DuePass): void;
	/** Something that spans partitions, called for by the record of this key; it stays due until that is done. */
	onErrand(key: string, errand: Errand): Promise<ErrandResult>;
	onFailure(failure: TimerFailure): void;
}

/** What was due could not be done, or not even be looked at. */
export interface TimerFailure {
	partition: number;
	/** The item; left out when a whole pass failed. */
	key?: string;
	/** The duty of an errand that failed; a tick that does has not told its duty. */
	duty?: Duty | undefined;
	error: unknown;
	/** Whether the item is left alone for a while. */
	isParked: boolean;
}

export interface DuePass {
	startedAt: number;
	durationMs: number;
	/** Items looked at, whatever came of them. */
	items: number;
	done: ReadonlyMap<Duty, DutyRun>;
}

/**
 * Minds everything with a due time in one partition. It sleeps until the earliest due time it knows of; commits and
 * notices that bring an earlier one wake it. An item that keeps failing is parked and never holds up those behind it; nor
 * does another partition: what an item calls for there is an errand, and goes its own way.
 *
 * Where another engine has the partition, this one does so later, and leaves alone what that one is busy with: it does
 * only what was due long ago and stayed the first in the line from one look to the next, as when a notice was lost.
 */
export class PartitionTimer {
	readonly #options: PartitionTimerOptions;
	/** Items not to be looked at before a time: parked ones, and leases that get a chance to be renewed first. */
	readonly #notBefore = new Map<string, number>();
	readonly #failures = new Map<string, number>();
	readonly #parked = new Set<string>();
	/** Items that are none of this engine's business, and until when they are taken to be so. */
	readonly #outside = new Map<string, number>();
	#wakeAt = Number.POSITIVE_INFINITY;
	#isOurs = true;
	/** Until when it was vouched for what is due: nobody else may have heard of that. */
	#vouchedUntil = 0;
	/** What was overdue at the head of the line when it was last looked at for another engine. */
	#overdue: string | undefined;
	#disarm: (() => void) | undefined;
	/** Monotonic time at which the timer fires. */
	#firesAt = 0;
	#pass: Promise<void> | undefined;
	#closed = false;

	constructor(options: PartitionTimerOptions) {
		this.#options = options;
	}

	/** True when no pass is under way and none is due. */
	get idle(): boolean {
		return !this.#pass && this.#wakeAt > this.#options.runner.time.now();
	}

	/** Items put aside because they kept failing. */
	get parked(): number {
		return this.#parked.size;
	}

	/** Something is due at this time of the store. */
	expect(at: number): void {
		if (this.#closed) return;
		const wakeAt = Math.min(at + this.#lagMs, this.#wakeAt);
		if (wakeAt < this.#wakeAt || this.#isLate()) this.#arm(wakeAt);
	}

	/** Whether it is this engine runs the partition. */
	assign(isOurs: boolean): void {
		if (isOurs === this.#isOurs) return;
		this.#isOurs = isOurs;
		this.#overdue = undefined;
		if (isOurs) this.look();
	}

	/** Whether whatever is due up to this time will be seen to here, also if the partition changes hands meanwhile. */
	vouches(until: number): boolean {
		const { runner, scannerFilter } = this.#options;
		if (!this.#isOurs || this.#closed || scannerFilter || until > runner.time.now() + VOUCHED_MS) return false;
		this.#vouchedUntil = Math.max(until, this.#vouchedUntil);
		return true;
	}

	/** How long after its time something is looked at here. */
	get #lagMs(): number {
		const isVouched = this.#options.runner.time.now() <= this.#vouchedUntil + OTHERS_FIRST_MS;
		return this.#isOurs || isVouched ? 0 : OTHERS_FIRST_MS;
	}

	/** Looks now, whatever is expected. */
	look(): void {
		this.expect(0);
	}

	async close(): Promise<void> {
		this.#closed = true;
		this.#disarm?.();
		await this.#pass;
	}

	#arm(at: number): void {
		this.#disarm?.();
		this.#disarm = undefined;
		this.#wakeAt = at;
		if (this.#closed || at === Number.POSITIVE_INFINITY) return;
		const { clock } = this.#options;
		const ms = this.#msUntil(at);
		this.#firesAt = clock.monotonic() + ms;
		this.#disarm = clock.setTimer(ms, () => this.#start());
	}

	/** Whether the timer was set when the store's time was taken to be earlier than it is, as when its clock is put on. */
	#isLate(): boolean {
		if (!this.#disarm) return false;
		return this.#firesAt > this.#options.clock.monotonic() + this.#msUntil(this.#wakeAt) + CLOSE_MS;
	}

	#msUntil(at: number): number {
		const { time } = this.#options.runner;
		return time.known ? Math.max(0, at - time.now()) : 0;
	}

	#start(): void {
		this.#disarm = undefined;
		if (this.#pass || this.#closed) return;
		this.#wakeAt = Number.POSITIVE_INFINITY;
		this.#pass = this.#makePass()
			.catch((error) => {
				const { partition } = this.#options.runner;
				if (!this.#closed) this.#options.onFailure({ partition, error, isParked: false });
				return this.#options.runner.time.now() + RETRY_MS;
			})
			.then((next) => {
				this.#pass = undefined;
				this.#arm(Math.min(next + this.#lagMs, this.#wakeAt));
			});
	}

	/** Ticks all that is due, page after page; returns when the next item is. */
	async #makePass(): Promise<number> {
		const { runner, clock } = this.#options;
		const done = new Map<Duty, DutyRun>();
		const startedAt = runner.time.now();
		const began = clock.monotonic();
		let items = 0;
		let after: QueuePosition | undefined;
		/** By the time each was due at: what is due anew, as by another engine's doing, is not what was tried. */
		const tried = new Map<string, number>();
		let tickedSince = false;
		await this.#awaitRoom();
		const finish = (next: number): number => {
			this.#options.onPass({ startedAt, durationMs: clock.monotonic() - began, items, done });
			return next;
		};
		for (;;) {
			const { entries } = await runner.ask((store, partition) => store.first(partition, DUE_QUEUE, PAGE, after));
			const now = runner.time.now();
			const due = entries.filter((entry) => entry.score <= now - this.#lagMs);
			if (this.#leaves(due[0])) return finish(now);
			const ready = due.filter(({ key, score }) => tried.get(key) !== score && !this.#waits(key, now));
			for (const { key, score } of ready) tried.set(key, score);
			await Promise.all(ready.map((entry) => this.#tick(entry, done)));
			items += ready.length;
			tickedSince ||= ready.length > 0;
			if (this.#closed) return Number.POSITIVE_INFINITY;
			const next = entries[due.length];
			if (!next && entries.length === PAGE) after = entries.at(-1);
			else if (tickedSince && this.#options.shared) {
				// While what was ticked stood first, something due soon may have come in behind it unheard.
				tickedSince = false;
				after = undefined;
			} else return finish(this.#earliest(next?.score, now));
		}
	}

	/**
	 * Where nothing could be written, as on a full disk, no item is to blame: none is tried before a small write works. Nor
	 * is a lease ended before it is known since when its holder can renew it.
	 */
	async #awaitRoom(): Promise<void> {
		const { runner } = this.#options;
		if (!runner.isRefusing) return;
		// It changes nothing, and is taken wherever work can be ended: a store without memory refuses only what starts some.
		// If this very record is damaged, that says nothing about the others.
		await runner.run({ op: "noteTrim", before: 0 }).catch((error: unknown) => {
			if (!isDamage(error)) throw error;
		});
	}

	/** Whether this is still another engine's to do. */
	#leaves(head: QueuePosition | undefined): boolean {
		if (this.#lagMs === 0 || !head || this.#overdue === head.key) return false;
		this.#overdue = head.key;
		return true;
	}

	#waits(key: string, now: number): boolean {
		if ((this.#outside.get(key) ?? 0) > now) return true;
		const until = this.#notBefore.get(key);
		if (until === undefined) return false;
		if (until > now) return true;
		this.#release(key);
		return false;
	}

	#earliest(next: number | undefined, now: number): number {
		let earliest = next ?? Number.POSITIVE_INFINITY;
		for (const [key, until] of this.#notBefore) {
			if (until <= now) this.#release(key);
			earliest = Math.min(earliest, until);
		}
		for (const [key, until] of this.#outside) {
			if (until <= now) this.#outside.delete(key);
			earliest = Math.min(earliest, until);
		}
		const isHeldBack = this.#notBefore.size > 0 || this.#outside.size > 0;
		return this.#options.shared && isHeldBack ? Math.min(earliest, now + HELD_BACK_MS) : earliest;
	}

	#release(key: string): void {
		this.#notBefore.delete(key);
		this.#parked.delete(key);
	}

	async #tick({ key, score }: QueuePosition, done: Map<Duty, DutyRun>): Promise<void> {
		const { runner, random, scannerFilter } = this.#options;
		try {
			const outcome = await runner.run({
				op: "tick",
				key,
				// As of when the rule runs: the command may have waited for the end of the very outage it is to know of.
				get writableSince() {
					return runner.writableSince;
				},
				jitter: random(),
				...(scannerFilter ? { scannerFilter } : undefined),
			});
			if (!outcome.ok) throw new Error(outcome.code);
			if (outcome.errand) this.#send(key, outcome.errand, outcome.duty);
			else this.#failures.delete(key);
			if (outcome.isOutside) this.#leave(key);
			else if (outcome.duty) note(done, outcome.duty, score, runner.time.now());
			else if (outcome.again !== undefined) this.#notBefore.set(key, outcome.again);
			// The store's time was taken to be later than it is.
			else if (outcome.early === score) this.#notBefore.set(key, Math.max(score, runner.time.now() + 1));
		} catch (error) {
			this.#failed(key, error);
		}
	}

	/** Nobody waits for an errand; what becomes of it counts as what becomes of a tick does. */
	#send(key: string, errand: Errand, duty: Duty | undefined): void {
		void this.#options.onErrand(key, errand).then(
			(result) => {
				if (result === "done") this.#failures.delete(key);
			},
			(error: unknown) => this.#failed(key, error, duty),
		);
	}

	#leave(key: string): void {
		if (this.#outside.size >= MOST_OUTSIDE) this.#outside.clear();
		this.#outside.set(key, this.#options.runner.time.now() + OUTSIDE_MS);
	}

	#failed(key: string, error: unknown, duty?: Duty): void {
		if (this.#closed) return;
		const { runner, onFailure } = this.#options;
		const failures = (this.#failures.get(key) ?? 0) + 1;
		const isParked = failures >= FAILURES_BEFORE_PARKING;
		if (isParked) {
			this.#failures.delete(key);
			this.#parked.add(key);
		} else this.#failures.set(key, failures);
		this.#notBefore.set(key, runner.time.now() + (isParked ? PARKED_MS : RETRY_MS));
		onFailure({ partition: runner.partition, key, duty, error, isParked });
	}
}

const isDamage = (error: unknown): boolean => error instanceof FlowFabricError && error.code === "store_corrupt";

/** What goes on in steps is due at once, at no time of its own: it has no lag. */
function note(done: Map<Duty, DutyRun>, duty: Duty, dueAt: number, now: number): void {
	const run = done.get(duty) ?? { items: 0 };
	run.items += 1;
	if (dueAt > 0) run.lagMs = now - dueAt;
	done.set(duty, run);
}
