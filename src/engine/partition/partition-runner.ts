import type { Clock } from "../../contract/clock.ts";
import { refusalError } from "../../contract/errors.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { type Outcome, refuse } from "../../kernel/outcome.ts";
import type { Entry } from "../../kernel/tx.ts";
import {
	type Batch,
	type CommitReply,
	hasWrites,
	type News,
	type Store,
	StoreError,
	type Unit,
} from "../../store/port.ts";
import { BatchBuilder } from "./batch-builder.ts";
import { Needs, PartitionMemory } from "./partition-memory.ts";
import type { QueueHeads } from "./queue-heads.ts";
import type { Running } from "./running.ts";
import { StoreLine, storeRefusal } from "./store-line.ts";
import type { StoreTime } from "./store-time.ts";
import { CorruptRecordError, MISS, Transaction } from "./transaction.ts";
import type { UnitDraft } from "./unit-draft.ts";
import { corruptDetails } from "./unreadable.ts";

/** Losses in a row after which a unit asks for a turn on what it lost on. */
const LOSSES_BEFORE_TURN = 4;
/** A caller is told that the store does not answer after this long; the commit itself is tried on. */
const CALL_TIMEOUT_MS = 30_000;

export interface RunnerOptions {
	engineId: string;
	partition: number;
	store: Store;
	kernel: Kernel;
	clock: Clock;
	random: () => number;
	cacheCapacity: number;
	/** Told of every queue a batch adds to, before it is committed; true when somebody was waiting for that. */
	onQueued(queue: string, partition: number): boolean;
	/** Told of every unit that was committed, before its callers are. */
	onCommitted(unit: UnitDraft, partition: number): void;
	/** Told of every unit that came to nothing; what it took from queues is still there. */
	onAbandoned(unit: UnitDraft, partition: number): void;
	onCorrupt(key: string, why: string): void;
	onBatch(report: BatchReport): void;
}

/** What became of a batch. */
export interface BatchReport {
	commands: number;
	units: number;
	/** Units that lost against another engine. */
	lost: number;
	/** The most often in a row that one of its commands has lost. */
	worstLosses: number;
	/** How long the store took over it. */
	ms: number;
}

/**
 * Runs the commands of one partition. It goes round and round, one step at a time:
 *
 *   run      every command that waits, in order, over records in memory; a rule that needs more is set aside
 *   commit   what they read and wrote goes to the store as one batch, while what was missing is fetched
 *   settle   callers of the units that were applied get their outcome; the others run again on what came back
 *
 * So there is one commit in flight, whatever arrives meanwhile shares the next one, and no rule ever runs while the
 * fate of what it would read is open. An outcome is told only after the store has checked everything it rests on.
 */
export class PartitionRunner {
	readonly #line: StoreLine;
	readonly #options: RunnerOptions;
	readonly #memory: PartitionMemory;
	#waiting: Running[] = [];
	#held = 0;
	#round: Promise<void> | undefined;
	#rounds = 0;
	#scheduled = false;
	#batchNumber = 0;
	#lastCommit = 0;
	#committing = false;
	#closed = false;

	constructor(options: RunnerOptions) {
		this.#options = options;
		this.#memory = new PartitionMemory(options.cacheCapacity, options.kernel, options.onCorrupt);
		this.#line = new StoreLine(options);
	}

	get time(): StoreTime {
		return this.#line.time;
	}

	/** Store time since when this partition could be written without a gap. */
	get writableSince(): number {
		return this.#line.writableSince;
	}

	get heads(): QueueHeads {
		return this.#memory.heads;
	}

	/** Commands that will go out with the next commit. */
	get gathered(): number {
		return this.#waiting.length;
	}

	/** True while a commit is being made or is on its way. */
	get isAway(): boolean {
		return this.#round !== undefined;
	}

	/** True while the store is asked to commit: what comes now goes out with the next. */
	get isCommitting(): boolean {
		return this.#committing;
	}

	/** True when nothing waits, runs or is on its way. */
	get idle(): boolean {
		return this.#waiting.length === 0 && this.#held === 0 && !this.#round && !this.#scheduled;
	}

	run<O extends Outcome>(command: { op: string }): Promise<O> {
		return new Promise<O>((resolve, reject) => {
			this.enqueue(command, resolve as (outcome: Outcome) => void, reject);
		});
	}

	/**
	 * `run` by callbacks, for callers with many commands: a promise for each would cost more than the command. As with a
	 * promise, only the first call back counts.
	 */
	enqueue(command: { op: string }, resolve: (outcome: Outcome) => void, reject: (error: unknown) => void): void {
		if (this.#closed) {
			reject(refusalError(refuse("shutting_down")));
			return;
		}
		const arrivedAt = this.#options.clock.monotonic();
		this.#waiting.push({ command, outcome: undefined, losses: 0, arrivedAt, resolve, reject });
		this.#schedule();
	}

	/** The first entries of a queue, from memory when known. */
	async look(queue: string, count: number): Promise<readonly Entry[]> {
		const known = this.heads.first(queue, count);
		if (known) return known;
		const asked = this.heads.loadSize(count);
		const rounds = this.#rounds;
		const { entries } = await this.ask((store, partition) => store.first(partition, queue, asked));
		// If a batch left meanwhile the answer may be older than it.
		if (!this.#round && rounds === this.#rounds) this.heads.load(queue, entries, asked);
		return entries.slice(0, count);
	}

	/** Takes in what another's commit put into a queue that was empty, unless that is old already or a batch is on its way. */
	learn(queue: string, news: News): void {
		if (!this.#round && news.commit > this.#lastCommit) this.#memory.learn(queue, news);
	}

	/**
	 * Hears the store for the first time, and what its latest commit is. Until now nobody may have written here: holders
	 * are to renew first.
	 */
	async greet(): Promise<number> {
		const { commit } = await this.ask((store, partition) => store.lastCommit(partition));
		this.#line.opened();
		return commit;
	}

	/** A question to the store itself; `store_unavailable` if it does not answer. */
	async ask<T extends { time: number }>(question: (store: Store, partition: number) => Promise<T>): Promise<T> {
		try {
			return await this.#line.ask(question);
		} catch (error) {
			throw error instanceof StoreError ? storeRefusal(error) : error;
		}
	}

	/** Refuses what still waits; a batch on its way is settled first. */
	async close(): Promise<void> {
		this.#closed = true;
		await this.#round;
		for (const running of this.#waiting.splice(0)) running.reject(refusalError(refuse("shutting_down")));
	}

	#schedule(): void {
		if (this.#scheduled || this.#round || this.#waiting.length === 0 || this.#closed) return;
		this.#scheduled = true;
		this.#options.clock.defer(() => {
			this.#scheduled = false;
			if (this.#round || this.#closed) return;
			this.#round = this.#goRound().finally(() => {
				this.#round = undefined;
				this.#schedule();
			});
		});
	}

	async #goRound(): Promise<void> {
		this.#rounds += 1;
		if (!this.time.known && !(await this.#fetch(new Needs()))) {
			for (const running of this.#waiting.splice(0)) running.reject(refusalError(refuse("store_unavailable")));
			return;
		}
		this.#memory.forgetBefore(this.#line.openings, this.#options.clock.monotonic());
		const now = this.time.now();
		let awaited = false;
		const builder = new BatchBuilder(this.#options.kernel.placement, this.#memory.cache, this.heads, (queue) => {
			awaited = this.#options.onQueued(queue, this.#options.partition) || awaited;
		});
		const needs = new Needs();
		const setAside = this.#runWaiting(builder, needs, now);
		if (awaited) {
			// Work and the claim that waited for it go out together: one commit from submit to handler instead of two.
			await new Promise<void>((resolve) => this.#options.clock.defer(resolve));
			setAside.push(...this.#runWaiting(builder, needs, now));
		}
		const drafts = [...builder.units];
		if (setAside.length === 0) this.#memory.scans.clear();
		const ahead = [...builder.walked].flatMap((queue) => this.#memory.missingAhead(queue));
		const [again, fetched] = await Promise.all([
			drafts.length > 0 ? this.#commit(drafts, now) : [],
			setAside.length > 0 ? this.#fetch(needs) : true,
			// While the commit is on its way this costs no time; if it fails, whoever needs them asks again.
			ahead.length > 0 ? this.#memory.fetchRecords(ahead, (question) => this.#line.ask(question)).catch(() => {}) : 0,
		]);
		// A window that was fetched while the batch was on its way may have been read before or after it.
		for (const queue of needs.queues.keys())
			for (const draft of drafts) if (draft.committed) this.#memory.showIn(queue, draft.written);
		this.#memory.cache.trim();
		if (fetched) this.#waiting = [...again, ...setAside, ...this.#waiting];
		else {
			for (const running of setAside) running.reject(refusalError(refuse("store_unavailable")));
			this.#waiting = [...again, ...this.#waiting];
		}
	}

	/** Runs what waits; returns the commands that need something first. */
	#runWaiting(builder: BatchBuilder, needs: Needs, now: number): Running[] {
		const setAside: Running[] = [];
		const waiting = this.#waiting;
		let taken = 0;
		while (taken < waiting.length && builder.size < this.#options.store.writesPerBatch) {
			const running = waiting[taken] as Running;
			const tx = new Transaction(this.#memory.cache, this.heads, this.#memory.scans);
			const ran = this.#runRule(running, tx, now);
			if (ran === "failed") {
				taken += 1;
			} else if (ran === "missing") {
				needs.add(tx);
				setAside.push(running);
				taken += 1;
			} else if (builder.add(running, tx)) taken += 1;
			else break;
		}
		this.#waiting = waiting.slice(taken);
		return setAside;
	}

	#runRule(running: Running, tx: Transaction, now: number): "ran" | "missing" | "failed" {
		const rules = this.#options.kernel.rules as unknown as Record<
			string,
			(tx: Transaction, command: unknown, now: number) => Outcome
		>;
		try {
			const outcome = (rules[running.command.op] as (typeof rules)[string])(tx, running.command, now);
			if (!outcome.ok) tx.dropWrites();
			running.outcome = outcome;
			return "ran";
		} catch (error) {
			if (error === MISS) return "missing";
			if (error instanceof CorruptRecordError) {
				// Somebody may put it right: whoever asks next is told of what is stored then.
				this.#memory.cache.delete(error.key);
				running.resolve(refuse("corrupt_record", corruptDetails(error.key, error.cause)));
			} else running.reject(error);
			return "failed";
		}
	}

	/** Sends a batch until the store has said what became of it; returns the commands that must run again. */
	async #commit(made: UnitDraft[], at: number): Promise<Running[]> {
		const drafts: UnitDraft[] = [];
		const units: Unit[] = [];
		for (const draft of made) {
			try {
				units.push(draft.toUnit(draft.commands.some((running) => running.losses >= LOSSES_BEFORE_TURN)));
				drafts.push(draft);
			} catch (error) {
				// A record over its cap: its commands are refused, the others go on.
				this.#abandon(draft, (running) => running.reject(error));
			}
		}
		if (units.length === 0) return [];
		this.#batchNumber += 1;
		const batch: Batch = { engine: this.#options.engineId, number: this.#batchNumber, at, units };
		const sentAt = this.#options.clock.monotonic();
		this.#committing = true;
		const reply = await this.#send(batch, drafts);
		this.#committing = false;
		if (!reply) return [];
		if (reply.results.length === 0) {
			if (at > reply.time) this.time.stall();
			return drafts.flatMap((draft) => this.#abandon(draft));
		}
		const mine = units.some(hasWrites) ? 1 : 0;
		if (reply.commit > this.#lastCommit + mine) this.heads.forgetAll();
		this.#lastCommit = Math.max(reply.commit, this.#lastCommit);
		return this.#settle(drafts, reply, this.#options.clock.monotonic() - sentAt);
	}

	async #send(batch: Batch, drafts: UnitDraft[]): Promise<CommitReply | undefined> {
		let inDoubt = false;
		for (let tries = 0; ; tries++) {
			try {
				const reply = await this.#line.ask((store, partition) => store.commit(partition, batch));
				this.#line.worked();
				return reply;
			} catch (error) {
				this.#line.failed();
				inDoubt ||= !(error instanceof StoreError) || error.applied === "unknown";
				const hopeless = error instanceof StoreError && !error.passing;
				const waitedFor = this.#giveUpOnCallers(drafts, error);
				// What was certainly not done and nobody waits for any more is not done later either.
				if (hopeless || this.#closed || (!inDoubt && !waitedFor)) {
					const refusal = storeRefusal(error);
					for (const draft of drafts) this.#abandon(draft, (running) => running.reject(refusal));
					return undefined;
				}
				await this.#line.pause(tries);
			}
		}
	}

	#settle(drafts: UnitDraft[], reply: CommitReply, ms: number): Running[] {
		const again: Running[] = [];
		const report: BatchReport = { commands: 0, units: drafts.length, lost: 0, worstLosses: 0, ms };
		drafts.forEach((draft, n) => {
			const result = reply.results[n];
			report.commands += draft.commands.length;
			if (result?.ok) {
				draft.committed = true;
				for (const { key } of draft.written) this.#memory.committed(key, reply.commit);
				this.#options.onCommitted(draft, this.#options.partition);
				for (const running of draft.commands) running.resolve(running.outcome as Outcome);
				return;
			}
			report.lost += 1;
			const commands = this.#abandon(draft);
			for (const running of commands) {
				running.losses += 1;
				report.worstLosses = Math.max(report.worstLosses, running.losses);
			}
			for (const record of result?.current ?? []) this.#memory.remember(record);
			if (result?.turnUntil === undefined) again.push(...commands);
			else this.#hold(commands, result.turnUntil - reply.time);
		});
		// Somebody else writes here: what is known of queues may be out of date.
		if (report.lost > 0) this.heads.forgetAll();
		this.#options.onBatch(report);
		return again;
	}

	/** A unit that will not be: memory forgets it; its commands are told, or are to run again. */
	#abandon(draft: UnitDraft, tell?: (running: Running) => void): Running[] {
		this.#memory.forget(draft.written);
		this.#options.onAbandoned(draft, this.#options.partition);
		if (tell) draft.commands.forEach(tell);
		return draft.commands;
	}

	/** Another engine has its turn on a record: these commands come back when it is over. */
	#hold(commands: Running[], ms: number): void {
		this.#held += commands.length;
		this.#options.clock.setTimer(Math.max(1, ms * this.#options.random()), () => {
			this.#held -= commands.length;
			this.#waiting.unshift(...commands);
			if (this.#closed)
				for (const running of this.#waiting.splice(0)) running.reject(refusalError(refuse("shutting_down")));
			this.#schedule();
		});
	}

	/** Fetches what rules were missing; false when the store did not answer in time. */
	async #fetch(needs: Needs): Promise<boolean> {
		for (let tries = 0; ; tries++) {
			try {
				// Even with nothing missing the store's time must be heard before a rule can run.
				if (!this.time.known) await this.#line.ask((store, partition) => store.read(partition, []));
				await this.#memory.fetch(needs, (question) => this.#line.ask(question));
				this.#line.worked();
				return true;
			} catch {
				this.#line.failed();
				if (this.#closed || this.#line.trouble > CALL_TIMEOUT_MS) return false;
				await this.#line.pause(tries);
			}
		}
	}

	/** Callers do not wait for ever; what they asked may still happen, which is what this error says. True if any waits on. */
	#giveUpOnCallers(drafts: UnitDraft[], cause: unknown): boolean {
		const now = this.#options.clock.monotonic();
		let waitedFor = false;
		for (const draft of drafts) {
			for (const running of draft.commands) {
				if (now - running.arrivedAt > CALL_TIMEOUT_MS) running.reject(storeRefusal(cause));
				else waitedFor = true;
			}
		}
		return waitedFor;
	}
}
