import type { Clock } from "../../contract/clock.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { describeLack, offersAll } from "../../kernel/matching.ts";
import { classOfQueue, ROUTE, routeQueue, routeQueuePrefix, routeQueueSubject } from "../../kernel/placement.ts";
import { workerExpiresAt } from "../../kernel/records/worker.ts";
import { type BlockRouteCommand, MOVED_PER_STEP, type RouteOutcome } from "../../kernel/rules/route.ts";
import { isWithin, type ScannerFilter } from "../../kernel/scanner-filter.ts";
import type { QueuePosition, StoredRecord } from "../../store/port.ts";
import type { WorkFinder } from "../claims/work-finder.ts";
import type { Registry, WorkerOffer } from "../fleet/registry.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

export interface RouteKeeperOptions {
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	clock: Clock;
	registry: Registry;
	work(): WorkFinder;
	onFailure(error: unknown): void;
}

/** Partitions asked at the same time. */
const IN_FLIGHT = 16;
/** How many partitions it has never looked at a pass looks at. */
const FIRST_LOOKS = 32;
const MOST_REMEMBERED = 4096;
/** Steps that move nothing although the store has something, before it is left to the next who looks. */
const MOST_IDLE_STEPS = 5;

/** What somebody who came could not be given, because a partition did not answer, is tried again this often. */
const OWED_AGAIN_MS = 1000;

/** A queue in one partition. */
type Place = readonly [partition: number, queue: string];

/**
 * Moves work aside that no live worker of its namespace could serve, and back once one can. A claim that meets work
 * beyond its own offer asks for it to be examined; that somebody else can serve it is remembered for as long as that one
 * will be there, so one who cannot never costs those who can.
 *
 * The registry lives in a partition of its own, so a worker may come between the look at it and the move. Therefore
 * whoever moved work aside looks once more, and whoever comes releases what waits; one of the two is the later.
 */
export class RouteKeeper {
	readonly #options: RouteKeeperOptions;
	/** Until when work that requires this can be served by somebody. */
	readonly #servedUntil = new Map<string, number>();
	/** Partitions a pass has looked at, and those where it found something that waits. */
	readonly #looked = new Set<number>();
	#holding: ReadonlySet<number> = new Set();
	/** Namespaces in which something may wait for somebody who has come, and how to call the next try off. */
	readonly #owed = new Map<string, () => void>();
	#closed = false;

	constructor(options: RouteKeeperOptions) {
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
			const places = await this.#queuesIn([...this.#options.runners.keys()], routeQueuePrefix(namespace));
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
	 * The net under all of this: one look at the registry of every namespace in which something waits. If it cannot be
	 * read, everything of that namespace is released, and whoever claims next finds out. Of the partitions of this engine
	 * only those are looked at that have changed, that held something back the last time, or that were never looked at,
	 * a few of the last in each pass. With a scannerFilter only what is within it is released. Returns how many were moved.
	 */
	async pass(own: readonly number[], changed: readonly number[], scannerFilter?: ScannerFilter): Promise<number> {
		const fresh = own.filter((partition) => !this.#looked.has(partition)).slice(0, FIRST_LOOKS);
		const wanted = new Set([...changed, ...this.#holding, ...fresh]);
		const partitions = own.filter((partition) => wanted.has(partition));
		for (const partition of fresh) this.#looked.add(partition);
		const found = await this.#queuesIn(partitions, ROUTE);
		this.#holding = new Set(found.map(([partition]) => partition));
		let moved = 0;
		for (const namespace of new Set(found.map(([, queue]) => routeQueueSubject(queue).namespace))) {
			if (scannerFilter && scannerFilter.namespaces.length > 0 && !scannerFilter.namespaces.includes(namespace))
				continue;
			const mine = found.filter(([, queue]) => queue.startsWith(routeQueuePrefix(namespace)));
			moved += await this.#releaseServed(namespace, mine, scannerFilter);
		}
		return moved;
	}

	#owe(namespace: string): void {
		if (this.#closed || this.#owed.has(namespace)) return;
		const again = async () => {
			this.#owed.delete(namespace);
			try {
				const places = await this.#queuesIn([...this.#options.runners.keys()], routeQueuePrefix(namespace));
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
			const move: Move = { op: "blockRoute", queue, detail: describeLack(requiredCapabilities, workers) };
			return this.#move(partition, move, async () => (await this.#isServed(namespace, requiredCapabilities)) === false);
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
		if (this.#servedUntil.size >= MOST_REMEMBERED) this.#servedUntil.clear();
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
			served.map(([partition, queue]) =>
				scannerFilter && scannerFilter.tags.length > 0
					? this.#releaseWithin(scannerFilter, partition, queue)
					: this.#releaseAll(partition, queue),
			),
		);
		return moved.reduce((sum, count) => sum + count, 0);
	}

	async #releaseAll(partition: number, queue: string): Promise<number> {
		const { namespace, requiredCapabilities } = routeQueueSubject(queue);
		const isWanted = async () => (await this.#isServed(namespace, requiredCapabilities)) !== false;
		const { first, all } = this.#move(partition, { op: "unblockRoute", queue }, isWanted);
		// If the first step fails, that is told below.
		const whole = all.catch((error) => first.then(() => this.#options.onFailure(error)).catch(() => {}));
		const count = await first;
		if (count < MOVED_PER_STEP) await whole;
		return count;
	}

	/** Page after page: what is not within the scannerFilter stays, and must not hide what is behind it. */
	async #releaseWithin(scannerFilter: ScannerFilter, partition: number, queue: string): Promise<number> {
		const { runners, kernel } = this.#options;
		const runner = runners[partition] as PartitionRunner;
		let moved = 0;
		let after: QueuePosition | undefined;
		do {
			const position = after;
			const { entries } = await runner.ask((store, at) => store.first(at, queue, MOVED_PER_STEP, position));
			const { records } = await runner.ask((store, at) => store.read(at, keysOf(entries)));
			const keys = keysOf(records.filter((stored) => isReadableWithin(kernel, scannerFilter, stored)));
			if (keys.length > 0) moved += await this.#step(partition, { op: "unblockRoute", queue, keys });
			after = entries.length < MOVED_PER_STEP ? undefined : entries.at(-1);
		} while (after);
		return moved;
	}

	/** Queues that are not empty, a few partitions at a time. */
	async #queuesIn(partitions: readonly number[], prefix: string): Promise<Place[]> {
		const found: Place[] = [];
		for (let n = 0; n < partitions.length; n += IN_FLIGHT) {
			const step = partitions.slice(n, n + IN_FLIGHT).map(async (partition) => {
				const runner = this.#options.runners[partition] as PartitionRunner;
				const { queues } = await runner.ask((store, at) => store.queues(at, prefix));
				for (const queue of queues) found.push([partition, queue]);
			});
			await Promise.all(step);
		}
		return found;
	}

	/**
	 * Moves a queue step by step, since it may be long, for as long as that is wanted: somebody who comes or goes meanwhile
	 * has it moved the other way, and two that moved it to and fro would never end.
	 */
	#move(partition: number, move: Move, isWanted: () => Promise<boolean>): Moving {
		const first = this.#step(partition, move);
		const all = first.then(async (count) => {
			let total = count;
			for (let moved = count, idle = 0; idle < MOST_IDLE_STEPS; total += moved) {
				if (moved < MOVED_PER_STEP && (await this.#isOver(partition, move))) break;
				if (!(await isWanted())) break;
				moved = await this.#step(partition, move);
				idle = moved === 0 ? idle + 1 : 0;
			}
			return total;
		});
		return { first, all };
	}

	async #step(partition: number, move: Move): Promise<number> {
		const runner = this.#options.runners[partition] as PartitionRunner;
		const outcome = await runner.run<RouteOutcome>({ ...move, actor: "unblock" } as BlockRouteCommand);
		if (!outcome.ok) throw new Error(outcome.code);
		return outcome.moved;
	}

	/** Only the store can say that a queue is empty; claims are told, lest they have it examined again and again. */
	async #isOver(partition: number, { queue }: Move): Promise<boolean> {
		const { runners, work } = this.#options;
		const runner = runners[partition] as PartitionRunner;
		const emptied = work().looking(partition, queue);
		const { entries } = await runner.ask((store, at) => store.first(at, queue, 1));
		if (entries.length > 0) runner.heads.forget(queue);
		else emptied();
		return entries.length === 0;
	}
}

/** How many the first step moved, and how many all of them. */
interface Moving {
	first: Promise<number>;
	all: Promise<number>;
}

type Move =
	| { op: "blockRoute"; queue: string; detail: string }
	| { op: "unblockRoute"; queue: string; keys?: readonly string[] };

const keysOf = (found: readonly { key: string }[]): string[] => found.map(({ key }) => key);

/** Whose it is cannot be said of one that cannot be read: it is left alone. */
function isReadableWithin(kernel: Kernel, scannerFilter: ScannerFilter, { key, version, doc }: StoredRecord): boolean {
	try {
		return version > 0 && isWithin(scannerFilter, key, kernel.decode(key, doc));
	} catch {
		return false;
	}
}

const isServedBy = (workers: readonly WorkerOffer[], required: readonly string[]): boolean =>
	workers.some(({ capabilities }) => offersAll(capabilities, required));

const servedName = (namespace: string, required: readonly string[]): string => `${namespace} ${required.join(" ")}`;
