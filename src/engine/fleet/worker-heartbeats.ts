import type { Clock } from "../../contract/clock.ts";
import type { Beat } from "../../kernel/rules/register-worker.ts";
import type { Registry } from "./registry.ts";
import type { WorkerLimit } from "./worker-limit.ts";

export interface WorkerHeartbeatsOptions {
	registry: Registry;
	limit: WorkerLimit;
	clock: Clock;
	/** A worker is there that offers what nobody may have offered before. */
	onArrival(namespace: string, capabilities: readonly string[]): Promise<void>;
	onFailure(error: unknown): void;
}

/** Somebody who claims. */
export interface ClaimingWorker extends Beat {
	namespace: string;
}

interface Tracked {
	worker: ClaimingWorker;
	/** Claims of it that wait now. */
	waiting: number;
	/** When it is to be said again that it is there. */
	again: number;
	/** Whether the registry has it. */
	known: boolean;
}

/** How long to the next sign of life when the registry has not said. */
const UNHEARD_MS = 10_000;
/** How long to the next one of a worker that is not in the registry: it may have registered with another engine since. */
const UNREGISTERED_MS = 60_000;
/** From this many on, workers without a waiting claim are looked for, to be forgotten. */
const SWEEP_SIZE = 1024;
const BEATS_PER_COMMAND = 100;
/** Offers of one instance that are remembered when it does not wait with them. */
const MOST_OFFERS = 16;

/**
 * Takes claims and renewals for signs of life. Whoever claims is there, so workers need not say so beside that: while one
 * waits here, its entry in the registry is kept fresh, together with those of all others that wait here, wherever it has
 * registered. One that offers nothing special is not entered by claiming; whether the registry has it is asked seldom.
 */
export class WorkerHeartbeats {
	readonly #options: WorkerHeartbeatsOptions;
	/** By instance; one may claim with several offers. */
	readonly #tracked = new Map<string, Tracked[]>();
	readonly #due = new Set<Tracked>();
	/** Those who wait here and are in the registry: who has to be heard again in time. */
	readonly #kept = new Set<Tracked>();
	#sweepAt = SWEEP_SIZE;
	#flush: Promise<void> | undefined;
	#disarm: (() => void) | undefined;
	/** When the timer fires that is set. */
	#armedFor = Number.POSITIVE_INFINITY;
	#closed = false;

	constructor(options: WorkerHeartbeatsOptions) {
		this.#options = options;
	}

	/**
	 * A worker claims. Resolves, where there is something to wait for, once what waited for such a worker is released;
	 * `leave` is to be called when the claim is over.
	 */
	enter(worker: ClaimingWorker): { arrival: Promise<void> | undefined; leave: () => void } {
		const tracked = this.#trackedFor(worker);
		const isOffering = worker.capabilities.length > 0;
		tracked.waiting += 1;
		// One not heard for a while may have been taken to be gone.
		const beat = this.#now() >= tracked.again ? this.#beat(tracked) : undefined;
		this.#keep(tracked);
		if (tracked.known && tracked.again < this.#armedFor) this.#arm();
		return {
			arrival: isOffering ? beat : undefined,
			leave: () => {
				tracked.waiting -= 1;
				this.#keep(tracked);
			},
		};
	}

	/** The holder of a lease renewed it. */
	renewed(namespace: string, instanceId: string): void {
		const [tracked] = this.#tracked.get(nameOf(namespace, instanceId)) ?? [];
		if (tracked?.known && this.#now() >= tracked.again) void this.#beat(tracked);
	}

	/** A worker registered by itself. */
	registered(worker: ClaimingWorker, ttlMs: number): void {
		this.#trackedFor(worker);
		for (const tracked of this.#tracked.get(nameOf(worker.namespace, worker.instanceId)) ?? []) {
			tracked.known = true;
			tracked.again = this.#now() + ttlMs / 3;
			this.#keep(tracked);
		}
		this.#arm();
	}

	removed(namespace: string, instanceId: string): void {
		const name = nameOf(namespace, instanceId);
		for (const tracked of this.#tracked.get(name) ?? []) this.#kept.delete(tracked);
		this.#tracked.delete(name);
	}

	/** One that was removed meanwhile is nobody's to keep. */
	#keep(tracked: Tracked): void {
		const { worker, waiting, known } = tracked;
		const isTracked = this.#tracked.get(nameOf(worker.namespace, worker.instanceId))?.includes(tracked);
		if (waiting > 0 && known && isTracked) this.#kept.add(tracked);
		else this.#kept.delete(tracked);
	}

	#trackedFor(worker: ClaimingWorker): Tracked {
		const name = nameOf(worker.namespace, worker.instanceId);
		const known = this.#tracked.get(name);
		const same = known?.find((tracked) => isSame(tracked.worker.capabilities, worker.capabilities));
		if (same) return same;
		if (this.#tracked.size >= this.#sweepAt) this.#forgetGone();
		const tracked: Tracked = { worker, waiting: 0, again: 0, known: known?.some((other) => other.known) ?? false };
		const others = known && known.length >= MOST_OFFERS ? known.filter(({ waiting }) => waiting > 0) : known;
		this.#tracked.set(name, [...(others ?? []), tracked]);
		return tracked;
	}

	close(): void {
		this.#closed = true;
		this.#disarm?.();
	}

	#now(): number {
		return this.#options.clock.monotonic();
	}

	/** One command for all that come at the same time. */
	#beat(tracked: Tracked): Promise<void> {
		tracked.again = this.#now() + UNHEARD_MS;
		this.#due.add(tracked);
		this.#flush ??= new Promise((resolve) => {
			this.#options.clock.defer(() => {
				this.#flush = undefined;
				const group = [...this.#due];
				this.#due.clear();
				this.#send(group).then(resolve, (error) => {
					if (!this.#closed) this.#options.onFailure(error);
					resolve();
				});
			});
		});
		return this.#flush;
	}

	async #send(group: readonly Tracked[]): Promise<void> {
		const byNamespace = new Map<string, Tracked[]>();
		for (const tracked of group) {
			const { namespace } = tracked.worker;
			const same = byNamespace.get(namespace);
			if (same) same.push(tracked);
			else byNamespace.set(namespace, [tracked]);
		}
		const sent: Promise<void>[] = [];
		for (const [namespace, all] of byNamespace) {
			for (let n = 0; n < all.length; n += BEATS_PER_COMMAND) {
				sent.push(this.#sendTo(namespace, all.slice(n, n + BEATS_PER_COMMAND)));
			}
		}
		await Promise.all(sent);
	}

	async #sendTo(namespace: string, group: readonly Tracked[]): Promise<void> {
		const { registry, limit, onArrival } = this.#options;
		const mayEnter = group.some(({ worker, known }) => !known && worker.capabilities.length > 0);
		const isFull = mayEnter && (await limit.isFull(namespace));
		const beats = group.map(({ worker }): Beat => {
			const { instanceId, workerId, capabilities, kinds, lanes } = worker;
			return { instanceId, workerId, capabilities, kinds, lanes };
		});
		const outcome = await registry.runnerOf(namespace).run({ op: "beat", namespace, beats, isFull });
		if (!outcome.ok) throw new Error(outcome.code);
		const arrived = new Set<string>();
		outcome.seen.forEach(({ ttlMs, hasArrived }, n) => {
			const tracked = group[n] as Tracked;
			if (!tracked.known && hasArrived) limit.entered(namespace, 1);
			tracked.known = ttlMs > 0;
			this.#keep(tracked);
			tracked.again = this.#now() + (ttlMs > 0 ? ttlMs / 3 : UNREGISTERED_MS);
			if (hasArrived) for (const token of tracked.worker.capabilities) arrived.add(token);
		});
		this.#arm();
		if (arrived.size > 0) await onArrival(namespace, [...arrived].sort());
	}

	/** Wakes when the next of those who wait here and are in the registry has to be heard again. */
	#arm(): void {
		if (this.#closed) return;
		let next = Number.POSITIVE_INFINITY;
		for (const { again } of this.#kept) next = Math.min(next, again);
		this.#disarm?.();
		this.#disarm = undefined;
		this.#armedFor = next;
		if (next === Number.POSITIVE_INFINITY) return;
		this.#disarm = this.#options.clock.setTimer(Math.max(0, next - this.#now()), () => {
			this.#disarm = undefined;
			this.#armedFor = Number.POSITIVE_INFINITY;
			// Those that are due soon go along.
			const soon = this.#now() + 1000;
			const due = [...this.#kept].filter(({ again }) => again <= soon);
			for (const tracked of due) void this.#beat(tracked);
			this.#arm();
		});
	}

	/** The next sweep comes when as many more are there, so that each costs little however many there are. */
	#forgetGone(): void {
		for (const [name, group] of this.#tracked) {
			if (group.every(({ waiting, again }) => waiting === 0 && again <= this.#now())) this.#tracked.delete(name);
		}
		this.#sweepAt = Math.max(SWEEP_SIZE, 2 * this.#tracked.size);
	}
}

/** Namespaces hold no space. */
const nameOf = (namespace: string, instanceId: string): string => `${namespace} ${instanceId}`;

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
	a === b || (a.length === b.length && a.every((token, n) => token === b[n]));
