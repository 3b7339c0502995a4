import type { Clock } from "../contract/clock.ts";
import { DUE_QUEUE, ELIGIBLE } from "../kernel/placement.ts";
import { logSubject, type Notice } from "../store/port.ts";
import type { WorkFinder } from "./claims/work-finder.ts";
import type { DriftedEntry } from "./duties/index-walk.ts";
import type { TimerService } from "./duties/timer-service.ts";
import type { PartitionRunner } from "./partition/partition-runner.ts";
import type { UnitDraft } from "./partition/unit-draft.ts";
import type { Watchers } from "./watchers.ts";

export interface ChangeRouterOptions {
	runners: readonly PartitionRunner[];
	clock: Clock;
	work: WorkFinder;
	timers: TimerService;
	watchers: Watchers;
}

/** Tells of changes whom they concern, claims, timers and watchers: of this engine's own commits, and of notices of others'. */
export class ChangeRouter {
	readonly #options: ChangeRouterOptions;
	/** Partitions whose notices may have been missed. */
	readonly #gaps = new Set<number>();
	#closed = false;

	constructor(options: ChangeRouterOptions) {
		this.#options = options;
	}

	close(): void {
		this.#closed = true;
	}

	/** A unit of this engine was committed. */
	committed(unit: UnitDraft, partition: number): void {
		const { work, timers, watchers } = this.#options;
		for (const { key, after } of unit.written) {
			for (const { queue, score } of after) {
				if (queue === DUE_QUEUE) timers.expect(partition, score);
				else if (queue.startsWith(ELIGIBLE)) work.hasStored(partition, queue);
			}
			if (watchers.size > 0) watchers.changed(key);
		}
		if (watchers.size === 0) return;
		// Most units tell of one namespace.
		let told: string | undefined;
		for (const { namespace } of unit.events) if (namespace !== told) watchers.changed(logSubject((told = namespace)));
	}

	/** A unit came to nothing: whoever looked while it was on its way may have found its queues empty. */
	abandoned(unit: UnitDraft, partition: number): void {
		const { work } = this.#options;
		for (const { before } of unit.written)
			for (const { queue } of before) if (queue.startsWith(ELIGIBLE)) work.hasStored(partition, queue);
	}

	/** Somebody may have changed something. */
	noticed({ partition, gap, time, queues, news, due, changed }: Notice): void {
		const { runners, work, timers, watchers } = this.#options;
		const runner = runners[partition];
		if (this.#closed || !runner) return;
		if (gap) {
			runner.distrust();
			this.#missed(partition);
		}
		if (time !== undefined) runner.time.hear(time);
		for (const queue of queues) {
			if (!queue.startsWith(ELIGIBLE)) continue;
			if (runner.heads.peek(queue) === null) runner.heads.forget(queue);
			const awaited = work.hasHeard(partition, queue);
			if (awaited && news) runner.learn(queue, news);
		}
		if (due !== undefined) timers.expect(partition, due);
		for (const key of changed) watchers.changed(key);
	}

	/** Anything may have changed there. */
	lookAnew(partitions: readonly number[]): void {
		const { work, timers, watchers } = this.#options;
		timers.look(partitions);
		void work.lookAt(partitions);
		watchers.changedAll();
	}

	/** Entries that were missing are work and times nobody here has heard of. */
	mended(partition: number, entries: readonly DriftedEntry[]): void {
		const { runners, work, timers } = this.#options;
		for (const { queue, score, problem } of entries) {
			runners[partition]?.heads.forget(queue);
			if (problem === "stale") continue;
			if (queue === DUE_QUEUE) timers.expect(partition, score);
			else if (queue.startsWith(ELIGIBLE)) work.hasStored(partition, queue);
		}
	}

	/** A connection that was away was so for many partitions: they are looked at together. */
	#missed(partition: number): void {
		this.#gaps.add(partition);
		if (this.#gaps.size > 1) return;
		this.#options.clock.defer(() => {
			if (this.#closed) return;
			const partitions = [...this.#gaps];
			this.#gaps.clear();
			this.lookAnew(partitions);
		});
	}
}
