import type { Clock } from "../../contract/clock.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { Outcome } from "../../kernel/outcome.ts";
import { type Batch, type CommitReply, DUE, hasWrites, StoreError, type Unit } from "../../store/port.ts";
import type { PartitionMemory } from "./partition-memory.ts";
import type { Running } from "./running.ts";
import { type StoreLine, storeRefusal } from "./store-line.ts";
import type { UnitDraft } from "./unit-draft.ts";

/** Losses in a row after which a unit asks for a turn on what it lost on. */
const LOSSES_BEFORE_TURN = 4;
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

export interface BatchSenderOptions {
	engineId: string;
	clock: Clock;
	line: StoreLine;
	memory: PartitionMemory;
	startsWork: Kernel["startsWork"];
	/** Whether this engine itself sees to whatever is due here up to this time. */
	vouches(until: number): boolean;
	/** Told of every unit that was committed, before its callers are. */
	onCommitted(unit: UnitDraft): void;
	/** Told of every unit that came to nothing; what it took from queues is still there. */
	onAbandoned(unit: UnitDraft): void;
	onBatch(report: BatchReport): void;
	/** Told when the store refuses a batch, and would do so again. */
	onRefused(error: unknown): void;
	/** Takes commands that are of no use for so many milliseconds: another engine has its turn. */
	hold(commands: Running[], ms: number): void;
}

/** Brings batches to the store, each until it is known what became of it, and settles what they were made of. */
export class BatchSender {
	/** Number of the latest batch that has left. */
	sent = 0;
	/** Batches that the store is asked to commit. */
	committing = 0;
	/** The latest commit heard of in an answer. */
	lastCommit = 0;
	readonly #options: BatchSenderOptions;
	#closed = false;

	constructor(options: BatchSenderOptions) {
		this.#options = options;
	}

	/** From now on a batch that the store does not take is not sent again. */
	close(): void {
		this.#closed = true;
	}

	/** Sends a batch until the store has said what became of it; returns the commands that must run again. */
	async commit(made: readonly UnitDraft[], at: number): Promise<Running[]> {
		const { engineId, clock, line, memory } = this.#options;
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
		this.sent += 1;
		const batch: Batch = { engine: engineId, number: this.sent, at, units };
		const due = latestDue(units);
		if (due !== undefined && this.#options.vouches(due)) batch.vouched = true;
		if (drafts.some((draft) => draft.commands.some((running) => this.#startsWork(running)))) batch.startsWork = true;
		const sentAt = clock.monotonic();
		this.committing += 1;
		const reply = await this.#send(batch, drafts);
		this.committing -= 1;
		if (!reply) return [];
		if (reply === "apart") return this.#commitApart(drafts, at);
		if (reply instanceof Error) return this.#commitRest(drafts, at, reply);
		if (reply.results.length === 0) {
			if (at > reply.time) line.time.stall();
			return drafts.flatMap((draft) => this.#abandon(draft));
		}
		const mine = units.some(hasWrites) ? 1 : 0;
		if (reply.commit !== this.lastCommit + mine) memory.heads.forgetAll();
		// Commits that were answered are not there any more.
		if (reply.commit < this.lastCommit) memory.distrust();
		this.lastCommit = reply.commit;
		return this.#settle(drafts, reply, clock.monotonic() - sentAt);
	}

	/** An error when the batch might be taken without what starts work, `apart` when its units might be one by one. */
	async #send(batch: Batch, drafts: UnitDraft[]): Promise<CommitReply | Error | "apart" | undefined> {
		const { line } = this.#options;
		let inDoubt = false;
		const writes = batch.units.some(hasWrites);
		for (let tries = 0; ; tries++) {
			try {
				const reply = await line.ask((store, partition) => store.commit(partition, batch));
				if (writes) line.written();
				else line.worked();
				return reply;
			} catch (error) {
				inDoubt ||= !(error instanceof StoreError) || error.applied === "unknown";
				const hopeless = error instanceof StoreError && !error.passing;
				const isDamage = hopeless && error.code === "store_corrupt";
				if (isDamage && !inDoubt && drafts.length > 1) return "apart";
				if (hopeless) this.#options.onRefused(error);
				if (hopeless && !inDoubt && batch.startsWork) return storeRefusal(error);
				if (writes) line.refused();
				else line.failed();
				// What may have been done is asked about again, whether there is room or not.
				if (inDoubt) batch.startsWork = false;
				const waitedFor = drafts.some(({ commands }) => commands.some(({ isOver }) => !isOver));
				// What was certainly not done and nobody waits for any more is not done later either.
				if (hopeless || this.#closed || (!inDoubt && !waitedFor)) {
					const refusal = storeRefusal(error);
					for (const draft of drafts) this.#abandon(draft, (running) => running.reject(refusal));
					return undefined;
				}
				await line.pause(tries);
			}
		}
	}

	/** A damaged page is met by few: by halves and halves again it is found out by whom, and the others are committed. */
	async #commitApart(drafts: UnitDraft[], at: number): Promise<Running[]> {
		const half = Math.ceil(drafts.length / 2);
		const first = await this.commit(drafts.slice(0, half), at);
		return [...first, ...(await this.commit(drafts.slice(half), at))];
	}

	/** Where there is no room what starts work is refused, and with it all that it was sent with: the rest goes by itself. */
	async #commitRest(drafts: UnitDraft[], at: number, refusal: Error): Promise<Running[]> {
		const rest: UnitDraft[] = [];
		const again: Running[] = [];
		for (const draft of drafts) {
			if (!draft.commands.some((running) => this.#startsWork(running))) {
				rest.push(draft);
				continue;
			}
			for (const running of this.#abandon(draft)) {
				if (this.#startsWork(running)) running.reject(refusal);
				else again.push(running);
			}
		}
		return rest.length > 0 ? [...again, ...(await this.commit(rest, at))] : again;
	}

	#startsWork({ command }: Running): boolean {
		return this.#options.startsWork(command.op);
	}

	#settle(drafts: UnitDraft[], reply: CommitReply, ms: number): Running[] {
		const { memory, onCommitted, onBatch, hold } = this.#options;
		const again: Running[] = [];
		const report: BatchReport = { commands: 0, units: drafts.length, lost: 0, worstLosses: 0, ms };
		drafts.forEach((draft, n) => {
			const result = reply.results[n];
			report.commands += draft.commands.length;
			if (result?.ok) {
				draft.committed = true;
				for (const write of draft.written) memory.committed(write, reply.commit);
				onCommitted(draft);
				for (const running of draft.commands) running.resolve(running.outcome as Outcome);
				return;
			}
			report.lost += 1;
			const commands = this.#abandon(draft);
			for (const running of commands) {
				running.losses += 1;
				report.worstLosses = Math.max(report.worstLosses, running.losses);
			}
			for (const record of result?.current ?? []) memory.remember(record);
			if (result?.turnUntil !== undefined) hold(commands, result.turnUntil - reply.time);
			else for (const running of commands) again.push(running);
		});
		// Somebody else writes here: what is known of queues may be out of date.
		if (report.lost > 0) memory.heads.forgetAll();
		onBatch(report);
		return again;
	}

	/** A unit that will not be: memory forgets it; its commands are told, or are to run again. */
	#abandon(draft: UnitDraft, tell?: (running: Running) => void): Running[] {
		this.#options.memory.forget(draft.written);
		this.#options.onAbandoned(draft);
		if (tell) draft.commands.forEach(tell);
		return draft.commands;
	}
}

/** The latest time at which any of these makes something due. */
function latestDue(units: readonly Unit[]): number | undefined {
	let latest: number | undefined;
	for (const { indexAdded } of units)
		for (const { queue, score } of indexAdded)
			if (queue === DUE && (latest === undefined || score > latest)) latest = score;
	return latest;
}
