import type { Clock } from "../../contract/clock.ts";
import { describeLack, offersAll } from "../../kernel/matching.ts";
import { blockedQueuePrefix, classOfQueue, routeQueue, routeQueueSubject } from "../../kernel/placement.ts";
import { workerExpiresAt } from "../../kernel/records/worker.ts";
import { MOVED_PER_STEP } from "../../kernel/rules/block.ts";
import type { ScannerFilter } from "../../kernel/scanner-filter.ts";
import type { Registry, WorkerOffer } from "../fleet/registry.ts";
import { KnownTexts } from "../known-texts.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import type { BlockedMover, Move, Moving, Place } from "./blocked-mover.ts";

export interface RouteBlockerOptions {
	runners: readonly PartitionRunner[];
	clock: Clock;
	registry: Registry;
	mover: BlockedMover;
	onFailure(error: unknown): void;
}

const MOST_REMEMBERED = 4096;

/** What somebody who came could not be given, because a partition did not answer, is tried again this often. */
const OWED_AGAIN_MS = 1000;

/**
 * Moves work aside that no live worker of its namespace could serve, and back once one can. A claim that meets work
 * beyond its own offer asks for it to be examined; that somebody else can serve it is remembered for as long as that one
 * will be there, so one who cannot never costs those who can.
 *
 * The registry lives in a partition of its own, so a worker may come between the look at it and the move. Therefore
 * whoever moved work aside looks once more, and whoever comes releases what waits; one of the two is the later.
 */
export class RouteBlocker {
	readonly #options: RouteBlockerOptions;
	/** Until when work that requires this can be served by somebody. */
	readonly #servedUntil = new KnownTexts<number>(MOST_REMEMBERED);
	/** Namespaces in which something may wait for somebody who has come, and how to call the next try off. */
	readonly #owed = new Map<string, () => void>();
	#closed = false;

	constructor(options: RouteBlockerOptions) {
		this.#options = options;
	}

	/** Examines work that waits in these eligible queues; undefined when all of it can be served by somebody. */
	examine(namespace: string, places: readonly Place[]): Promise<void> | undefined {
		const { registry } = this.#options;
		const now = registry.runnerOf(namespace).time.now();
		const open = places.filter(([, queue]) => {
			const until = this.#servedUntil.get(servedName(namespace, classOfQueue(queue).requiredCapabilities));
			return until === undefined || until <= now;
		});
		return open.length > 0 ? this.#blockUnserved(namespace, open).catch(this.#options.onFailure) : undefined;
	}

	/**
	 * A worker with these capabilities has come: resolves when the first of what waited for it can be claimed. It comes only
	 * once, so what could not be released then is released as soon as it can be.
	 */
	async released(namespace: string, capabilities: readonly string[]): Promise<void> {
		try {
			const places = await this.#options.mover.queuesIn(
				[...this.#options.runners.keys()],
				blockedQueuePrefix("route", namespace),
			);
			await this.#release(places, (required) => offersAll(capabilities, required));
		} catch (error) {
			this.#owe(namespace);
			throw error;
		}
	}

	close(): void {
		this.#closed = true;
		for (const callOff of this.#owed.values()) callOff();
	}

	/** Somebody has gone: what is remembered of who can be served may no longer hold. */
	gone(): void {
		this.#servedUntil.clear();
	}

	/**
	 * One look at the registry of every namespace in which something waits. If it cannot be read, everything of that
	 * namespace is released, and whoever claims next finds out. With a filter only what is within it is released.
	 */
	async releaseFound(found: readonly Place[], filter: ScannerFilter | undefined): Promise<number> {
		let moved = 0;
		for (const namespace of new Set(found.map(([, queue]) => routeQueueSubject(queue).namespace))) {
			const mine = found.filter(([, queue]) => queue.startsWith(blockedQueuePrefix("route", namespace)));
			moved += await this.#releaseServed(namespace, mine, filter);
		}
		return moved;
	}

	#owe(namespace: string): void {
		if (this.#closed || this.#owed.has(namespace)) return;
		const again = async () => {
			this.#owed.delete(namespace);
			try {
				const places = await this.#options.mover.queuesIn(
					[...this.#options.runners.keys()],
					blockedQueuePrefix("route", namespace),
				);
				if (places.length > 0) await this.#releaseServed(namespace, places);
			} catch (error) {
				this.#options.onFailure(error);
				this.#owe(namespace);
			}
		};
		this.#owed.set(
			namespace,
			this.#options.clock.setTimer(OWED_AGAIN_MS, () => void again()),
		);
	}

	async #blockUnserved(namespace: string, places: readonly Place[]): Promise<void> {
		// What cannot be read may be anybody: nothing is moved then.
		const { workers } = await this.#options.registry.read(namespace);
		const unserved = places.filter(
			([, queue]) => !this.#rememberServed(namespace, classOfQueue(queue).requiredCapabilities, workers),
		);
		const moving = unserved.map(([partition, queue]) => {
			const { requiredCapabilities } = classOfQueue(queue);
			const move: Move = { op: "block", cause: "route", queue, detail: describeLack(requiredCapabilities, workers) };
			return this.#options.mover.move(
				partition,
				move,
				async () => (await this.#isServed(namespace, requiredCapabilities)) === false,
			);
		});
		const whole = this.#lookAgain(namespace, unserved, moving).catch(this.#options.onFailure);
		const firsts = await Promise.allSettled(moving.map(({ first }) => first));
		// A short queue is done with before anyone is told; nobody waits for a long one.
		if (firsts.every((first) => first.status === "rejected" || first.value < MOVED_PER_STEP)) await whole;
	}

	/** Only after the last step, since a worker may have come before it. What failed may have been done all the same. */
	async #lookAgain(namespace: string, places: readonly Place[], moving: readonly Moving[]): Promise<void> {
		const moved = await Promise.allSettled(moving.map(({ all }) => all));
		const aside = places.filter((_, n) => moved[n]?.status === "rejected" || moved[n]?.value !== 0);
		if (aside.length > 0) {
			const queues = aside.map(([partition, queue]): Place => [partition, routeQueue(classOfQueue(queue))]);
			await this.#releaseServed(namespace, queues);
		}
		for (const move of moved) if (move.status === "rejected") throw move.reason;
	}

	/** Looks who is there and releases what they can serve; if that cannot be read, whoever claims next finds out. */
	async #releaseServed(namespace: string, places: readonly Place[], scannerFilter?: ScannerFilter): Promise<number> {
		const workers = await this.#readWorkers(namespace);
		return this.#release(places, (required) => !workers || isServedBy(workers, required), scannerFilter);
	}

	/** Whether somebody who is there can serve what requires this; undefined when it cannot be said. */
	async #isServed(namespace: string, required: readonly string[]): Promise<boolean | undefined> {
		const workers = await this.#readWorkers(namespace);
		return workers && isServedBy(workers, required);
	}

	#readWorkers(namespace: string): Promise<WorkerOffer[] | undefined> {
		return this.#options.registry.read(namespace).then(
			({ workers }) => workers,
			() => undefined,
		);
	}

	#rememberServed(namespace: string, required: readonly string[], workers: readonly WorkerOffer[]): boolean {
		const able = workers.filter(({ capabilities }) => offersAll(capabilities, required));
		if (able.length === 0) return false;
		this.#servedUntil.set(
			servedName(namespace, required),
			able.reduce((last, worker) => Math.max(last, workerExpiresAt(worker)), 0),
		);
		return true;
	}

	/** Resolves when the first of each queue can be claimed, and all of a short one; the rest follows. */
	async #release(
		places: readonly Place[],
		isFor: (required: readonly string[]) => boolean,
		scannerFilter?: ScannerFilter,
	): Promise<number> {
		const served = places.filter(([, queue]) => isFor(routeQueueSubject(queue).requiredCapabilities));
		const moved = await Promise.all(
			served.map((place) => {
				if (scannerFilter && scannerFilter.tags.length > 0)
					return this.#options.mover.releaseWithin(scannerFilter, "route", place);
				const { namespace, requiredCapabilities } = routeQueueSubject(place[1]);
				const isWanted = async () => (await this.#isServed(namespace, requiredCapabilities)) !== false;
				return this.#options.mover.release("route", place, isWanted);
			}),
		);
		return moved.reduce((sum, count) => sum + count, 0);
	}
}

const isServedBy = (workers: readonly WorkerOffer[], required: readonly string[]): boolean =>
	workers.some(({ capabilities }) => offersAll(capabilities, required));

const servedName = (namespace: string, required: readonly string[]): string => `${namespace} ${required.join(" ")}`;
