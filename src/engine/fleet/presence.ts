import { type Clock, within } from "../../contract/clock.ts";
import type { EnginesRecord } from "../../kernel/records/engines.ts";
import type { AnnounceCommand, WithdrawCommand } from "../../kernel/rules/announce.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

/** How an engine says that it is there. */
export interface PresenceTimes {
	/** It counts as there for this long after it last said so. */
	ttlMs: number;
	/** How often it says so while there are others. */
	beatMs: number;
	/** How often it does so alone: all it has to hear then is whether somebody came. */
	aloneMs: number;
}

const TIMES: PresenceTimes = { ttlMs: 2500, beatMs: 1000, aloneMs: 5000 };
/** An engine that closes does not wait longer than this for a store to take note of it. */
const WITHDRAW_MS = 500;

export interface PresenceOptions {
	engineId: string;
	/** The runner of the partition where engines meet. */
	runner: PartitionRunner;
	clock: Clock;
	times?: Partial<PresenceTimes>;
	/** What this engine's scanners are restricted to, by name; empty when they are not. */
	scannerFilter?: string;
	/** The lanes for which workers claim from this engine. */
	claims(): readonly string[];
	/** Told who is there whenever that may have changed, in the order of their ids, this engine among them. */
	onLive(engines: readonly LiveEngine[]): void;
	/** Told when it could not be said, once until it could again. */
	onFailure(error: unknown): void;
}

export interface LiveEngine {
	id: string;
	claims: readonly string[];
	scannerFilter?: string;
}

/**
 * This engine among the others on its store. It says that it is there and hears who else is, in one commit; an engine
 * that does not say so again is taken for dead the moment its time is over. Nothing is right or wrong because of who is
 * taken to be there: it only keeps engines out of each other's way. So an engine that cannot be heard, or cannot hear,
 * ends up minding everything, and does no harm by it.
 */
export class Presence {
	readonly #options: PresenceOptions;
	readonly #times: PresenceTimes;
	#engines: EnginesRecord["engines"] = {};
	#disarm: () => void = () => {};
	#beating = false;
	/** Monotonic times: since when it has said so without a gap, and when it last did. */
	#since = Number.POSITIVE_INFINITY;
	#saidAt = Number.NEGATIVE_INFINITY;
	#started = false;
	#failing = false;
	#closed = false;

	constructor(options: PresenceOptions) {
		this.#options = options;
		this.#times = { ...TIMES, ...options.times };
	}

	/** Says for the first time that it is there; if that fails it is said again like any other time. */
	start(): Promise<void> {
		this.#started = true;
		return this.#beat();
	}

	/**
	 * Whether every engine there is has heard of this one, so that all will notice if it dies. One that took itself to be
	 * alone hears of it up to `aloneMs` later.
	 */
	get isKnown(): boolean {
		const now = this.#options.clock.monotonic();
		return now - this.#saidAt < this.#times.ttlMs && now - this.#since > this.#times.aloneMs;
	}

	/** Leaves, so that nobody has to wait for its time to be over. */
	async close(): Promise<void> {
		this.#closed = true;
		this.#disarm();
		if (!this.#started) return;
		const { runner, clock, engineId } = this.#options;
		const command: WithdrawCommand = { op: "withdraw", engineId };
		await within(clock, WITHDRAW_MS, runner.run(command)).catch(() => {});
	}

	async #beat(): Promise<void> {
		const { runner, clock, engineId, claims, scannerFilter, onFailure } = this.#options;
		const begun = clock.monotonic();
		this.#beating = true;
		this.#arm();
		const self = { claims: claims(), ...(scannerFilter ? { scannerFilter } : undefined) };
		const command: AnnounceCommand = { op: "announce", engineId, ttlMs: this.#times.ttlMs, ...self };
		try {
			const outcome = await runner.run(command);
			if (outcome.ok) this.#engines = outcome.engines;
			if (begun - this.#saidAt >= this.#times.ttlMs) this.#since = clock.monotonic();
			this.#saidAt = begun;
			this.#failing = false;
		} catch (error) {
			if (!this.#closed && !this.#failing) onFailure(error);
			this.#failing = true;
		}
		this.#beating = false;
		this.#tell();
		this.#arm();
	}

	/** Its own beat, or the end of another's time, whichever comes first. */
	#arm(): void {
		this.#disarm();
		if (this.#closed) return;
		const { runner, clock, engineId } = this.#options;
		const now = runner.time.now();
		const others = Object.entries(this.#engines).filter(([id]) => id !== engineId);
		let next = others.length > 0 ? this.#times.beatMs : this.#times.aloneMs;
		for (const [, { until }] of others) if (until > now) next = Math.min(next, until - now);
		this.#disarm = clock.setTimer(next, () => this.#wake());
	}

	/** While a beat is on its way, as when the store does not answer, time goes on all the same. */
	#wake(): void {
		if (this.#closed) return;
		if (!this.#beating) return void this.#beat();
		this.#tell();
		this.#arm();
	}

	#tell(): void {
		if (this.#closed) return;
		const { runner, engineId, claims, scannerFilter, onLive } = this.#options;
		const now = runner.time.now();
		const others = Object.entries(this.#engines).filter(([id, { until }]) => id !== engineId && until > now);
		const engines: LiveEngine[] = [
			{ id: engineId, claims: claims(), ...(scannerFilter ? { scannerFilter } : undefined) },
			...others.map(([id, { until: _, ...seen }]) => ({ id, ...seen })),
		];
		onLive(engines.sort((a, b) => (a.id < b.id ? -1 : 1)));
	}
}
