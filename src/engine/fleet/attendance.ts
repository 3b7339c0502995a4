import type { Clock } from "../../contract/clock.ts";
import type { Beat, BeatOutcome } from "../../kernel/rules/register-worker.ts";
import type { Registry } from "./registry.ts";

export interface AttendanceOptions {
	registry: Registry;
	clock: Clock;
	/** A worker is there that offers what nobody may have offered before. */
	onArrival(namespace: string, capabilities: readonly string[]): Promise<void>;
	onFailure(error: unknown): void;
}

/** Somebody who claims. */
export interface Visitor extends Beat {
	namespace: string;
}

interface Guest {
	visitor: Visitor;
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
/** Guests without a waiting claim are forgotten from this many on. */
const SWEEP_SIZE = 1024;
const BEATS_PER_COMMAND = 100;

/**
 * Takes claims and renewals for signs of life. Whoever claims is there, so workers need not say so beside that: while one
 * waits here, its entry in the registry is kept fresh, together with those of all others that wait here, wherever it has
 * registered. One that offers nothing special is not entered by claiming; whether the registry has it is asked seldom.
 */
export class Attendance {
	readonly #options: AttendanceOptions;
	/** By instance; one may claim with several offers. */
	readonly #guests = new Map<string, Guest[]>();
	readonly #due = new Set<Guest>();
	#flush: Promise<void> | undefined;
	#disarm: (() => void) | undefined;
	/** When the timer fires that is set. */
	#armedFor = Number.POSITIVE_INFINITY;
	#closed = false;

	constructor(options: AttendanceOptions) {
		this.#options = options;
	}

	/**
	 * A worker claims. Resolves, where there is something to wait for, once what waited for such a worker is released;
	 * `leave` is to be called when the claim is over.
	 */
	enter(visitor: Visitor): { arrival: Promise<void> | undefined; leave: () => void } {
		const guest = this.#guestFor(visitor);
		const isOffering = visitor.capabilities.length > 0;
		guest.waiting += 1;
		// One not heard for a while may have been taken to be gone.
		const beat = this.#now() >= guest.again ? this.#beat(guest) : undefined;
		if (guest.known && guest.again < this.#armedFor) this.#arm();
		return {
			arrival: isOffering ? beat : undefined,
			leave: () => {
				guest.waiting -= 1;
			},
		};
	}

	/** The holder of a lease renewed it. */
	renewed(namespace: string, instanceId: string): void {
		const [guest] = this.#guests.get(nameOf(namespace, instanceId)) ?? [];
		if (guest?.known && this.#now() >= guest.again) void this.#beat(guest);
	}

	/** A worker registered by itself. */
	registered(visitor: Visitor, ttlMs: number): void {
		this.#guestFor(visitor);
		for (const guest of this.#guests.get(nameOf(visitor.namespace, visitor.instanceId)) ?? []) {
			guest.known = true;
			guest.again = this.#now() + ttlMs / 3;
		}
		this.#arm();
	}

	removed(namespace: string, instanceId: string): void {
		this.#guests.delete(nameOf(namespace, instanceId));
	}

	#guestFor(visitor: Visitor): Guest {
		const name = nameOf(visitor.namespace, visitor.instanceId);
		const known = this.#guests.get(name);
		const same = known?.find((guest) => isSame(guest.visitor.capabilities, visitor.capabilities));
		if (same) return same;
		if (this.#guests.size >= SWEEP_SIZE) this.#forgetGone();
		const guest: Guest = { visitor, waiting: 0, again: 0, known: known?.some((other) => other.known) ?? false };
		this.#guests.set(name, [...(known ?? []), guest]);
		return guest;
	}

	close(): void {
		this.#closed = true;
		this.#disarm?.();
	}

	#now(): number {
		return this.#options.clock.monotonic();
	}

	/** One command for all that come at the same time. */
	#beat(guest: Guest): Promise<void> {
		guest.again = this.#now() + UNHEARD_MS;
		this.#due.add(guest);
		this.#flush ??= new Promise((resolve) => {
			this.#options.clock.defer(() => {
				this.#flush = undefined;
				const guests = [...this.#due];
				this.#due.clear();
				this.#send(guests).then(resolve, (error) => {
					if (!this.#closed) this.#options.onFailure(error);
					resolve();
				});
			});
		});
		return this.#flush;
	}

	async #send(guests: readonly Guest[]): Promise<void> {
		const byNamespace = new Map<string, Guest[]>();
		for (const guest of guests) {
			const { namespace } = guest.visitor;
			byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), guest]);
		}
		const sent: Promise<void>[] = [];
		for (const [namespace, all] of byNamespace) {
			for (let n = 0; n < all.length; n += BEATS_PER_COMMAND) {
				sent.push(this.#sendTo(namespace, all.slice(n, n + BEATS_PER_COMMAND)));
			}
		}
		await Promise.all(sent);
	}

	async #sendTo(namespace: string, guests: readonly Guest[]): Promise<void> {
		const { registry, onArrival } = this.#options;
		const beats = guests.map(({ visitor }): Beat => {
			const { instanceId, workerId, capabilities, kinds, lanes } = visitor;
			return { instanceId, workerId, capabilities, kinds, lanes };
		});
		const outcome = await registry.runnerOf(namespace).run<BeatOutcome>({ op: "beat", namespace, beats } as {
			op: string;
		});
		if (!outcome.ok) throw new Error(outcome.code);
		const arrived = new Set<string>();
		outcome.seen.forEach(({ ttlMs, hasArrived }, n) => {
			const guest = guests[n] as Guest;
			guest.known = ttlMs > 0;
			guest.again = this.#now() + (ttlMs > 0 ? ttlMs / 3 : UNREGISTERED_MS);
			if (hasArrived) for (const token of guest.visitor.capabilities) arrived.add(token);
		});
		this.#arm();
		if (arrived.size > 0) await onArrival(namespace, [...arrived].sort());
	}

	/** Wakes when the next of those who wait here and are in the registry has to be heard again. */
	#arm(): void {
		if (this.#closed) return;
		let next = Number.POSITIVE_INFINITY;
		for (const { waiting, known, again } of this.#all()) if (waiting > 0 && known) next = Math.min(next, again);
		this.#disarm?.();
		this.#disarm = undefined;
		this.#armedFor = next;
		if (next === Number.POSITIVE_INFINITY) return;
		this.#disarm = this.#options.clock.setTimer(Math.max(0, next - this.#now()), () => {
			this.#disarm = undefined;
			this.#armedFor = Number.POSITIVE_INFINITY;
			// Those that are due soon go along.
			const soon = this.#now() + 1000;
			const due = this.#all().filter(({ waiting, known, again }) => waiting > 0 && known && again <= soon);
			for (const guest of due) void this.#beat(guest);
			this.#arm();
		});
	}

	#all(): Guest[] {
		return [...this.#guests.values()].flat();
	}

	#forgetGone(): void {
		for (const [name, guests] of this.#guests) {
			if (guests.every(({ waiting, again }) => waiting === 0 && again <= this.#now())) this.#guests.delete(name);
		}
	}
}

/** Namespaces hold no space. */
const nameOf = (namespace: string, instanceId: string): string => `${namespace} ${instanceId}`;

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
	a === b || (a.length === b.length && a.every((token, n) => token === b[n]));
