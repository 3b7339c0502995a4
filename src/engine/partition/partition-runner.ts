import type { Clock } from "../../contract/clock.ts";
import { refusalError } from "../../contract/errors.ts";
import { type Command, type Kernel, type OutcomeOf, runRule } from "../../kernel/kernel.ts";
import { type Outcome, refuse } from "../../kernel/outcome.ts";
import type { Key } from "../../kernel/records/record.ts";
import type { Entry } from "../../kernel/tx.ts";
import { type News, type Store, StoreError } from "../../store/port.ts";
import { BatchBuilder } from "./batch-builder.ts";
import { type BatchReport, BatchSender } from "./batch-sender.ts";
import { Needs, PartitionMemory } from "./partition-memory.ts";
import { PendingScans } from "./pending-scans.ts";
import type { QueueHeads } from "./queue-heads.ts";
import type { Running } from "./running.ts";
import { CALL_TIMEOUT_MS, StoreLine, storeRefusal, unanswered } from "./store-line.ts";
import type { StoreTime } from "./store-time.ts";
import { CorruptRecordError, MISS, Transaction } from "./transaction.ts";
import type { UnitDraft } from "./unit-draft.ts";
import { corruptDetails } from "./unreadable.ts";
import { WaitingCommands } from "./waiting-commands.ts";

export interface RunnerOptions {
	engineId: string;
	partition: number;
	store: Store;
	kernel: Kernel;
	clock: Clock;
	random: () => number;
	cacheCapacity: number;
	/** Whether this engine itself sees to whatever is due in a partition up to this time. */
	vouches(partition: number, until: number): boolean;
	/** Told of every queue a batch adds to, before it is committed; true when somebody was waiting for that. */
	onQueued(queue: string, partition: number): boolean;
	/** Told of every unit that was committed, before its callers are. */
	onCommitted(unit: UnitDraft, partition: number): void;
	/** Told of every unit that came to nothing; what it took from queues is still there. */
	onAbandoned(unit: UnitDraft, partition: number): void;
	onCorrupt(key: string, why: string): void;
	onBatch(report: BatchReport): void;
	/** Told when the store refuses a batch, and would do so again. */
	onRefused(error: unknown): void;
}

/** One time round, until its batch is settled. */
interface Round {
	/** What it gathered. */
	readonly batch: BatchBuilder;
	readonly needs: Needs;
	/** Commands that run again when what they need is there. */
	setAside: Running[];
	/** Whether something waited for what it adds to queues. */
	awaited: boolean;
	/** Number of its batch. */
	number: number;
	/** How many commands it carries. */
	commands: number;
	settled: Promise<void>;
}

/** After this long at the earliest it is looked again whose caller has waited long enough: many may come to that at once. */
const GIVE_UP_STEP_MS = 250;
/** How long rules run before what they have come to is committed, whatever else waits. */
const RULES_MS = 20;

/** Commands one round sets aside for what they miss: it ends soon, and what is fetched for them still fits into memory. */
const MOST_SET_ASIDE = 1024;

/**
 * Runs the commands of one partition. It goes round and round, one step at a time:
 *
 *   run      every command that waits, in order, over records in memory; a rule that needs more is set aside
 *   commit   what they read and wrote goes to the store as one batch, while what was missing is fetched
 *   settle   callers of the units that were applied get their outcome; the others run again on what came back
 *
 * Whatever arrives while a commit is on its way shares the next one. Where the store takes more than one at a time, the
 * next may leave beside it once as much has gathered, with those commands that have nothing to do with the first: no rule
 * ever runs while the fate of what it would read is open. What could not run beside waits until nothing is on its way,
 * so it is never put off twice. An outcome is told only after the store has checked everything it rests on. A caller waits
 * for so long and no longer, whatever the store does.
 */
export class PartitionRunner {
	readonly #line: StoreLine;
	readonly #options: RunnerOptions;
	readonly #memory: PartitionMemory;
	readonly #sender: BatchSender;
	readonly #isHere: (slot: number) => boolean;
	readonly #scans = new PendingScans();
	readonly #mostSetAside: number;
	readonly #waiting: WaitingCommands;
	#held = 0;
	/** Those not settled yet, in the order they began. */
	#rounds: Round[] = [];
	#begun = 0;
	#scheduled = false;
	/** True while a round gathers its batch. */
	#gathering = false;
	/** True while what a round was missing is fetched. */
	#fetching = false;
	/** Set when something could not run beside a commit on its way. */
	#putOff = false;
	/** When it is next looked whose caller has waited long enough. */
	#givesUpAt = Number.POSITIVE_INFINITY;
	#disarm: () => void = () => {};
	#closed = false;

	constructor(options: RunnerOptions) {
		this.#options = options;
		const { partition, store } = options;
		this.#isHere = (slot) => slot % store.partitions === partition;
		this.#memory = new PartitionMemory(options.cacheCapacity, options.kernel, options.onCorrupt);
		this.#waiting = new WaitingCommands(2 * options.store.writesPerBatch);
		this.#mostSetAside = Math.min(MOST_SET_ASIDE, options.cacheCapacity / 2);
		this.#line = new StoreLine(options);
		this.#sender = new BatchSender({
			engineId: options.engineId,
			clock: options.clock,
			line: this.#line,
			memory: this.#memory,
			startsWork: options.kernel.startsWork,
			vouches: (until) => options.vouches(options.partition, until),
			onCommitted: (unit) => options.onCommitted(unit, options.partition),
			onAbandoned: (unit) => options.onAbandoned(unit, options.partition),
			onBatch: options.onBatch,
			onRefused: options.onRefused,
			hold: (commands, ms) => this.#hold(commands, ms),
		});
	}

	get partition(): number {
		return this.#options.partition;
	}

	get time(): StoreTime {
		return this.#line.time;
	}

	/** Store time since when this partition could be written without a gap. */
	get writableSince(): number {
		return this.#line.writableSince;
	}

	/** Whether the latest write to this partition failed. */
	get isRefusing(): boolean {
		return this.#line.isRefusing;
	}

	get heads(): QueueHeads {
		return this.#memory.heads;
	}

	/** A record as it was last seen here, if it is in memory. */
	known<R extends object>(key: Key<R>): R | undefined {
		return this.#memory.cache.get(key)?.record as R | undefined;
	}

	/** Commands that will go out with the next commit. */
	get gathered(): number {
		return this.#waiting.size;
	}

	/** True while a commit is being made or is on its way. */
	get isAway(): boolean {
		return this.#rounds.length > 0;
	}

	/** True while the store is asked to commit: what comes now goes out with the next. */
	get isCommitting(): boolean {
		return this.#sender.committing > 0;
	}

	/** True when nothing waits, runs or is on its way. */
	get idle(): boolean {
		return this.#waiting.size === 0 && this.#held === 0 && this.#rounds.length === 0 && !this.#scheduled;
	}

	/** Whether the store was heard about this partition since a monotonic time, and nothing failed after that. */
	isHeardSince(at: number): boolean {
		return this.#line.isHeardSince(at);
	}

	/** The outcome of a command; `store_unavailable` when it is not there in time. What comes after that is told as late. */
	run<C extends Command>(
		command: C,
		patienceMs?: number,
		onLate?: (outcome: OutcomeOf<C["op"]>) => void,
	): Promise<OutcomeOf<C["op"]>> {
		return new Promise((resolve, reject) => {
			if (!onLate) return this.enqueue<C>(command, resolve, reject, patienceMs);
			let tell: (outcome: OutcomeOf<C["op"]>) => void = resolve;
			const refuse = (error: unknown) => {
				tell = onLate;
				reject(error);
			};
			this.enqueue<C>(command, (outcome) => tell(outcome), refuse, patienceMs);
		});
	}

	/**
	 * `run` by callbacks, for callers with many commands: a promise for each would cost more than the command. As with a
	 * promise, only the first call back counts; an outcome that comes after all is told of a command that was given up. What
	 * is one of many lets others in between.
	 */
	enqueue<C extends Command>(
		command: C,
		resolve: (outcome: OutcomeOf<C["op"]>) => void,
		reject: (error: unknown) => void,
		patienceMs = CALL_TIMEOUT_MS,
		ofMany = 0,
	): void {
		if (this.#closed) {
			reject(refusalError(refuse("shutting_down")));
			return;
		}
		const until = this.#options.clock.monotonic() + patienceMs;
		this.#waiting.add({
			command,
			outcome: undefined,
			losses: 0,
			until,
			isOver: false,
			ofMany,
			scanTicket: 0,
			yieldsUpTo: 0,
			// Whatever is resolved is what the command's own rule gave.
			resolve: resolve as (outcome: Outcome) => void,
			reject,
		});
		if (until < this.#givesUpAt) this.#giveUpAt(until);
		this.#schedule();
	}

	/** The first entries of a queue, from memory when known; else so many are asked for. */
	async look(
		queue: string,
		count: number,
		asked = this.heads.loadSize(count),
		patienceMs?: number,
	): Promise<readonly Entry[]> {
		const known = this.heads.first(queue, count);
		if (known) return known;
		const begun = this.#begun;
		const { lastCommit } = this.#sender;
		const { entries } = await this.ask((store, partition) => store.first(partition, queue, asked), patienceMs);
		// If a batch left or came back meanwhile the answer may be older than it.
		const isNew = begun === this.#begun && lastCommit === this.#sender.lastCommit;
		if (isNew && this.#rounds.length === 0) this.heads.load(queue, entries, asked);
		return entries.slice(0, count);
	}

	/** Another server may answer from now on, that never had the latest commits. */
	distrust(): void {
		this.#memory.distrust();
		this.#sender.lastCommit = 0;
	}

	/** Takes in what another's commit put into a queue that was empty, unless that is old already or a batch is on its way. */
	learn(queue: string, news: News): void {
		if (!this.isAway && news.commit > this.#sender.lastCommit) this.#memory.learn(queue, news);
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

	/** A question to the store itself; `store_unavailable` if it does not answer in time. */
	async ask<T extends { time: number }>(
		question: (store: Store, partition: number) => Promise<T>,
		patienceMs?: number,
	): Promise<T> {
		try {
			return await this.#line.askWithin(question, patienceMs);
		} catch (error) {
			throw error instanceof StoreError ? storeRefusal(error) : error;
		}
	}

	/** Refuses what still waits; a batch on its way is settled first. */
	async close(): Promise<void> {
		this.#closed = true;
		this.#disarm();
		this.#sender.close();
		await Promise.all(this.#rounds.map(({ settled }) => settled));
		for (const running of this.#waiting.takeAll()) running.reject(refusalError(refuse("shutting_down")));
	}

	#schedule(): void {
		if (this.#scheduled || !this.#mayBegin()) return;
		this.#scheduled = true;
		this.#options.clock.defer(() => {
			this.#scheduled = false;
			if (this.#mayBegin()) this.#begin();
		});
	}

	#mayBegin(): boolean {
		if (this.#closed || this.#gathering || this.#waiting.size === 0) return false;
		const [oldest] = this.#rounds;
		if (!oldest) return true;
		const { inFlight } = this.#options.store;
		// The store remembers the latest batches only: none may leave while one that far back is not settled.
		if (this.#rounds.length >= inFlight || this.#sender.sent - oldest.number >= inFlight - 1) return false;
		return !this.#putOff && !this.#fetching && this.#waiting.size >= oldest.commands;
	}

	#begin(): void {
		this.#begun += 1;
		const { kernel, onQueued, partition } = this.#options;
		const round: Round = {
			batch: new BatchBuilder(kernel.placement, this.#memory.cache, this.heads, (queue) => {
				round.awaited = onQueued(queue, partition) || round.awaited;
			}),
			needs: new Needs(),
			setAside: [],
			awaited: false,
			number: 0,
			commands: 0,
			settled: Promise.resolve(),
		};
		this.#rounds.push(round);
		round.settled = this.#goRound(round).finally(() => {
			this.#rounds = this.#rounds.filter((other) => other !== round);
			this.#schedule();
		});
	}

	async #goRound(round: Round): Promise<void> {
		const alone = this.#rounds.length === 1;
		this.#gathering = true;
		const silence = this.time.known ? undefined : await this.#fetch(new Needs(), () => this.#waiting);
		if (silence) {
			this.#gathering = false;
			for (const running of this.#waiting.takeAll()) running.reject(silence);
			return;
		}
		if (alone) this.#memory.forgetBefore(this.#line.openings, this.#options.clock.monotonic());
		const now = this.time.now();
		this.#waiting.arrange((next) => this.#scans.begin(next));
		this.#runWaiting(round, now, alone);
		if (round.awaited) {
			// Work and the claim that waited for it go out together: one commit from submit to handler instead of two.
			await new Promise<void>((resolve) => this.#options.clock.defer(resolve));
			this.#runWaiting(round, now, alone);
		}
		const { setAside } = round;
		this.#gathering = false;
		this.#putOff = !alone && setAside.length > 0;
		this.#fetching = alone && setAside.length > 0;
		if (this.#putOff) this.#waiting.addFirst(setAside.splice(0));
		if (alone && !this.#fetching && this.#memory.scans.size > 0) this.#memory.scans.clear();
		const drafts = [...round.batch.units];
		for (const { commands } of drafts) round.commands += commands.length;
		const ahead = [...round.batch.walked].flatMap((queue) => this.#memory.missingAhead(queue));
		const settling = Promise.all([
			drafts.length > 0 ? this.#sender.commit(drafts, now) : [],
			this.#fetching ? this.#fetch(round.needs, () => setAside) : undefined,
			// While the commit is on its way this costs no time; if it fails, whoever needs them asks again.
			ahead.length > 0 ? this.#memory.fetchRecords(ahead, (question) => this.#line.ask(question)).catch(() => {}) : 0,
		]);
		round.number = this.#sender.sent;
		this.#schedule();
		const [again, failure] = await settling;
		if (alone) this.#fetching = false;
		// A window that was fetched while the batch was on its way may have been read before or after it.
		for (const queue of round.needs.queues.keys())
			for (const draft of drafts) if (draft.committed) this.#memory.showIn(queue, draft.written);
		this.#memory.cache.trim((key) => round.needs.isNeeded(key));
		if (failure) for (const running of setAside) running.reject(failure);
		this.#waiting.addFirst(failure ? again : [...again, ...setAside]);
	}

	/** Runs what waits; sets aside the commands that need something first. */
	#runWaiting({ batch, needs, setAside }: Round, now: number, alone: boolean): void {
		const waiting = this.#waiting.next();
		let taken = 0;
		const { store, clock } = this.#options;
		const until = clock.monotonic() + RULES_MS;
		while (taken < waiting.length && batch.size < store.writesPerBatch && setAside.length < this.#mostSetAside) {
			// What is heavy goes out by itself, and others get their turn before the next.
			if (taken > 0 && clock.monotonic() >= until) break;
			const running = waiting[taken] as Running;
			const tx = new Transaction(this.#isHere, this.#memory.cache, this.heads, this.#memory.scans);
			const ran = running.isOver ? "failed" : this.#runRule(running, tx, now);
			if (ran === "missing") {
				needs.add(tx);
				this.#scans.missed(running, tx, alone);
				setAside.push(running);
			} else if (ran === "ran" && (this.#isConcerned(tx, batch) || this.#scans.holdsBack(running, tx))) {
				setAside.push(running);
			} else if (ran === "ran" && !batch.add(running, tx)) break;
			taken += 1;
		}
		this.#waiting.drop(taken);
	}

	/** Whether a command rests on what another batch, on its way, may yet change. */
	#isConcerned(tx: Transaction, own: BatchBuilder): boolean {
		return this.#rounds.some(({ batch }) => batch !== own && batch.concerns(tx));
	}

	#runRule(running: Running, tx: Transaction, now: number): "ran" | "missing" | "failed" {
		try {
			const outcome = runRule(this.#options.kernel, tx, running.command, now);
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

	/** Another engine has its turn on a record: these commands come back when it is over. */
	#hold(commands: Running[], ms: number): void {
		this.#held += commands.length;
		this.#options.clock.setTimer(Math.max(1, ms * this.#options.random()), () => {
			this.#held -= commands.length;
			this.#waiting.addFirst(commands);
			if (this.#closed)
				for (const running of this.#waiting.takeAll()) running.reject(refusalError(refuse("shutting_down")));
			this.#schedule();
		});
	}

	/** Sees to it that by this time it is looked whose caller has waited long enough. One timer serves all commands. */
	#giveUpAt(at: number): void {
		const { clock } = this.#options;
		this.#disarm();
		this.#givesUpAt = at;
		if (at < Number.POSITIVE_INFINITY) {
			this.#disarm = clock.setTimer(at - clock.monotonic(), () => this.#giveUpOnCallers());
		}
	}

	/** What a batch on its way carries may be done all the same, and its caller is told so; the rest will not be. */
	#giveUpOnCallers(): void {
		const now = this.#options.clock.monotonic();
		// Those that come back when another engine's turn is over do so in less than a step.
		let next = this.#held > 0 ? now : Number.POSITIVE_INFINITY;
		const look = (running: Running, applied: "no" | "unknown") => {
			if (running.isOver) return;
			if (running.until > now) next = Math.min(next, running.until);
			else {
				running.isOver = true;
				running.reject(unanswered(applied, this.#line.failure));
			}
		};
		for (const { batch, setAside } of this.#rounds) {
			for (const running of setAside) look(running, "no");
			for (const { commands } of batch.units) for (const running of commands) look(running, "unknown");
		}
		this.#waiting.keep((running) => {
			look(running, "no");
			return !running.isOver;
		});
		this.#giveUpAt(next === Number.POSITIVE_INFINITY ? next : Math.max(next, now + GIVE_UP_STEP_MS));
	}

	/** Fetches what rules of these commands were missing; why not, when the store did not answer any of them in time. */
	async #fetch(needs: Needs, wantedBy: () => Iterable<Running>): Promise<Error | undefined> {
		for (let tries = 0; ; tries++) {
			try {
				// Even with nothing missing the store's time must be heard before a rule can run.
				if (!this.time.known) await this.#line.ask((store, partition) => store.read(partition, []));
				await this.#memory.fetch(needs, (question) => this.#line.ask(question));
				this.#line.worked();
				return undefined;
			} catch (error) {
				this.#line.failed();
				const hopeless = error instanceof StoreError && !error.passing;
				const isWanted = isForSomebody(wantedBy());
				if (hopeless || this.#closed || !isWanted || this.#line.trouble > CALL_TIMEOUT_MS) return storeRefusal(error);
				await this.#line.pause(tries);
			}
		}
	}
}

/** Whether any of these commands has a caller that still waits. */
function isForSomebody(commands: Iterable<Running>): boolean {
	for (const { isOver } of commands) if (!isOver) return true;
	return false;
}
