import type { Clock } from "../contract/clock.ts";
import { refusalError } from "../contract/errors.ts";
import { ELIGIBLE, eligibleQueue, eligibleQueuePrefix, queueScore } from "../kernel/placement.ts";
import type { ExecutionRecord } from "../kernel/records/execution.ts";
import type { ClaimCommand, ClaimOutcome } from "../kernel/rules/claim.ts";
import type { Entry } from "../kernel/tx.ts";
import type { UuidMint } from "./mint.ts";
import type { PartitionRunner } from "./partition-runner.ts";
import { MAX_UNIT_RECORDS } from "./unit-draft.ts";

/** A claim with every default filled in. */
export interface Claim {
	namespace: string;
	lanes: readonly string[];
	kinds: readonly string[] | undefined;
	workerId: string;
	instanceId: string;
	max: number;
	leaseMs: number;
	waitMs: number;
	request?: RememberedRequest;
}

/** A claim whose leases are remembered under a request id. */
export interface RememberedRequest {
	key: string;
	/** Which of the calls under that id this is. */
	call: string;
	/** Set when a partition says that another call has taken leases there: this one must take no others. */
	repeated: boolean;
}

interface Waiter {
	claim: Claim;
	/** Ends its sleep; called once. */
	wake: (() => void) | undefined;
}

/** Work for one lane in one partition. */
interface Share {
	partition: number;
	queues: string[];
	count: number;
}

/** A claim writes two records per execution when an attempt is moved away, and a unit holds only so many. */
const CLAIMS_PER_COMMAND = MAX_UNIT_RECORDS / 4;
const INPUT_BUDGET = 4 * 1024 * 1024;
const PARTITIONS_PER_SCAN = 32;
const ROTATION_WINDOW_MS = 250;
const RETRY_MIN_MS = 4;

/**
 * Hands out work. How it finds it:
 *
 * - A queue is *hot* once a commit or a notice said that it has work, until a look at it finds it empty.
 * - A claim takes from hot queues first: the best among the partitions it probes, lane by lane in the order it gave.
 * - If it found nothing it asks the stores of a window of partitions which queues are not empty. Only after such a look,
 *   begun after it was entered among the waiting, may it wait; so nothing that was there before is slept through, and
 *   whatever comes later finds it waiting.
 * - Work wakes the claim that waits longest. A claim that leaves, for whatever reason, wakes the next if work is left.
 */
export class ClaimDispatcher {
	readonly #runners: readonly PartitionRunner[];
	readonly #clock: Clock;
	readonly #mint: UuidMint;
	/** Lane prefix → partition → hot queues. */
	readonly #hot = new Map<string, Map<number, Set<string>>>();
	/** The same queues per partition, with how often each was told to have work: who finds one empty must have looked since. */
	readonly #hotQueues: readonly Map<string, number>[];
	readonly #waiters = new Set<Waiter>();
	#sleeping = 0;
	#cursor = 0;
	#rotatedAt = Number.NEGATIVE_INFINITY;
	#closed = false;

	constructor(runners: readonly PartitionRunner[], clock: Clock, mint: UuidMint) {
		this.#runners = runners;
		this.#hotQueues = runners.map(() => new Map());
		this.#clock = clock;
		this.#mint = mint;
	}

	/** A queue has work, or may have; true when that woke a claim. */
	hasWork(partition: number, queue: string): boolean {
		// Said for everything that is queued: when it is known and nobody sleeps, there is nothing to do.
		if (this.#sleeping === 0 && this.#hotQueues[partition]?.has(queue)) return false;
		const prefix = queue.slice(0, queue.indexOf(",", queue.indexOf(",", ELIGIBLE.length) + 1) + 1);
		this.#heat(partition, prefix, queue);
		for (const waiter of this.#waiters) {
			if (!waiter.wake || !accepts(waiter.claim, prefix, queue)) continue;
			waiter.wake();
			return true;
		}
		return false;
	}

	/** Work that was told of while it was on its way is now stored; whoever looked for it too early found nothing. */
	hasStored(partition: number, queue: string): void {
		const told = this.#hotQueues[partition]?.get(queue);
		if (told === undefined) this.hasWork(partition, queue);
		else this.#hotQueues[partition]?.set(queue, told + 1);
	}

	#heat(partition: number, prefix: string, queue: string): void {
		const told = this.#hotQueues[partition];
		told?.set(queue, (told.get(queue) ?? 0) + 1);
		let partitions = this.#hot.get(prefix);
		if (!partitions) this.#hot.set(prefix, (partitions = new Map()));
		const queues = partitions.get(partition);
		if (queues) queues.add(queue);
		else partitions.set(partition, new Set([queue]));
	}

	async claim(claim: Claim, signal?: AbortSignal): Promise<ExecutionRecord[]> {
		const waiter: Waiter = { claim, wake: undefined };
		const deadline = this.#clock.monotonic() + claim.waitMs;
		this.#waiters.add(waiter);
		try {
			const taken = await this.#take(claim);
			if (taken.length > 0 || claim.request?.repeated) return taken;
			await this.#lookAround(claim);
			for (let tries = 0; ; tries++) {
				const found = await this.#take(claim);
				const left = deadline - this.#clock.monotonic();
				const over = left <= 0 || signal?.aborted || this.#closed || claim.request?.repeated;
				if (found.length > 0 || over) return found;
				// A queue still hot had entries that others took first: look again soon, and less soon each time.
				const pause = this.#isHot(claim) ? Math.min(left, RETRY_MIN_MS * 2 ** Math.min(tries, 8)) : left;
				await this.#sleep(waiter, pause, signal);
			}
		} finally {
			this.#waiters.delete(waiter);
			this.#wakeNext();
		}
	}

	/** Ends every wait; the claims come back empty. */
	close(): void {
		this.#closed = true;
		for (const waiter of this.#waiters) waiter.wake?.();
	}

	#sleep(waiter: Waiter, ms: number, signal: AbortSignal | undefined): Promise<void> {
		return new Promise((resolve) => {
			const finish = () => {
				if (waiter.wake !== finish) return;
				waiter.wake = undefined;
				this.#sleeping -= 1;
				disarm();
				signal?.removeEventListener("abort", finish);
				resolve();
			};
			const disarm = this.#clock.setTimer(ms, finish);
			signal?.addEventListener("abort", finish);
			waiter.wake = finish;
			this.#sleeping += 1;
		});
	}

	#wakeNext(): void {
		for (const waiter of this.#waiters) {
			if (!waiter.wake || !this.#isHot(waiter.claim)) continue;
			waiter.wake();
			return;
		}
	}

	#isHot(claim: Claim): boolean {
		return claim.lanes.some((lane) => {
			for (const queues of this.#hot.get(eligibleQueuePrefix(claim.namespace, lane))?.values() ?? []) {
				for (const queue of queues) if (acceptsKind(claim, lane, queue)) return true;
			}
			return false;
		});
	}

	async #take(claim: Claim): Promise<ExecutionRecord[]> {
		const taken: ExecutionRecord[] = [];
		let budget = INPUT_BUDGET;
		for (const lane of claim.lanes) {
			while (taken.length < claim.max && budget > 0 && !claim.request?.repeated) {
				const shares = await this.#plan(claim, lane, claim.max - taken.length);
				if (shares.length === 0) break;
				const executions = await this.#takeShares(claim, lane, shares, budget, taken.length === 0);
				taken.push(...executions);
				budget -= executions.reduce((sum, execution) => sum + (execution.input?.size ?? 0), 0);
				if (executions.length === 0) break;
			}
		}
		return taken;
	}

	/** How many to take from which partition, the best first. */
	async #plan(claim: Claim, lane: string, wanted: number): Promise<Share[]> {
		const partitions = this.#hot.get(eligibleQueuePrefix(claim.namespace, lane));
		if (!partitions) return [];
		const candidates: (Entry & { partition: number; queue: string })[] = [];
		const probes = this.#inWindow(claim, [...partitions.keys()]).flatMap((partition) =>
			[...(partitions.get(partition) ?? [])]
				.filter((queue) => acceptsKind(claim, lane, queue))
				.map(async (queue) => {
					for (const { key, score } of await this.#probe(partitions, partition, queue, wanted))
						candidates.push({ key, score, partition, queue });
				}),
		);
		throwIfAllFailed(await Promise.allSettled(probes));
		candidates.sort((a, b) => a.score - b.score || (a.key < b.key ? -1 : 1));
		const shares = new Map<number, Share>();
		for (const { partition, queue } of candidates.slice(0, wanted)) {
			const share = shares.get(partition) ?? { partition, queues: [], count: 0 };
			shares.set(partition, share);
			share.count += 1;
			if (!share.queues.includes(queue)) share.queues.push(queue);
		}
		return [...shares.values()];
	}

	/** The first entries of a hot queue. Only a look that nothing was told during may find that it has gone cold. */
	async #probe(
		partitions: Map<number, Set<string>>,
		partition: number,
		queue: string,
		wanted: number,
	): Promise<readonly Entry[]> {
		for (;;) {
			const told = this.#hotQueues[partition]?.get(queue);
			const entries = await this.#runners[partition]?.look(queue, wanted);
			if (entries && entries.length > 0) return entries;
			if (told !== undefined && this.#hotQueues[partition]?.get(queue) !== told) continue;
			this.#cool(partitions, partition, queue);
			return [];
		}
	}

	#cool(partitions: Map<number, Set<string>>, partition: number, queue: string): void {
		this.#hotQueues[partition]?.delete(queue);
		const queues = partitions.get(partition);
		queues?.delete(queue);
		if (queues?.size === 0) partitions.delete(partition);
	}

	/**
	 * Takes all shares at once, the budget of input split among them; only if nothing fits that way one after the other.
	 * What was claimed must be told even if another partition failed, or nobody would know of its lease.
	 */
	async #takeShares(
		claim: Claim,
		lane: string,
		shares: Share[],
		budget: number,
		isFirst: boolean,
	): Promise<ExecutionRecord[]> {
		const split = Math.floor(budget / shares.length);
		const results = await Promise.allSettled(
			shares.map((share, n) => this.#takeShare(claim, lane, share, split, isFirst && n === 0)),
		);
		const taken = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
		if (taken.length > 0) return taken.sort((a, b) => queueScore(a) - queueScore(b) || (a.id < b.id ? -1 : 1));
		throwIfAllFailed(results);
		if (shares.length === 1 || claim.request?.repeated) return [];
		for (const share of shares) {
			const found = await this.#takeShare(claim, lane, share, budget, false);
			if (found.length > 0) return found;
		}
		return [];
	}

	async #takeShare(
		claim: Claim,
		lane: string,
		share: Share,
		inputBudget: number,
		atLeastOne: boolean,
	): Promise<ExecutionRecord[]> {
		const max = Math.min(share.count, CLAIMS_PER_COMMAND);
		const command: ClaimCommand = {
			op: "claim",
			namespace: claim.namespace,
			lane,
			queues: share.queues,
			kinds: claim.kinds,
			max,
			leaseUuids: Array.from({ length: max }, () => this.#mint.next()),
			leaseMs: claim.leaseMs,
			workerId: claim.workerId,
			instanceId: claim.instanceId,
			inputBudget,
			atLeastOne,
			actor: claim.instanceId,
		};
		if (claim.request) command.request = { key: claim.request.key, call: claim.request.call };
		const outcome = await this.#runners[share.partition]?.run<ClaimOutcome>(command);
		if (!outcome) return [];
		if (!outcome.ok) throw refusalError(outcome);
		if (outcome.repeated && claim.request) {
			claim.request.repeated = true;
			return [];
		}
		if (outcome.executions.length === 0) this.#ledNowhere(claim, lane, share, outcome.lanePaused === true);
		return outcome.executions;
	}

	/** Entries that gave nothing: either nobody may have them now, or others took them and the index will tell. */
	#ledNowhere(claim: Claim, lane: string, { partition, queues }: Share, paused: boolean): void {
		const partitions = this.#hot.get(eligibleQueuePrefix(claim.namespace, lane));
		for (const queue of queues) {
			if (paused && partitions) this.#cool(partitions, partition, queue);
			else this.#runners[partition]?.heads.forget(queue);
		}
	}

	/** At the start: what waits in every partition, so that the first claims see all of it. */
	async lookEverywhere(): Promise<void> {
		await Promise.all(
			this.#runners.map(async (runner, partition) => {
				const { queues } = await runner.ask((store, at) => store.queues(at, ELIGIBLE));
				for (const queue of queues) this.hasWork(partition, queue);
			}),
		);
	}

	/** Asks a window of partitions which of the claim's queues are not empty. */
	async #lookAround(claim: Claim): Promise<void> {
		this.#rotate();
		const all = this.#runners.map((_, partition) => partition);
		await Promise.all(
			this.#inWindow(claim, all).flatMap((partition) =>
				claim.lanes.map((lane) => this.#lookAt(claim, partition, lane)),
			),
		);
	}

	async #lookAt(claim: Claim, partition: number, lane: string): Promise<void> {
		const runner = this.#runners[partition];
		const found = await runner?.ask((store, at) => store.queues(at, eligibleQueuePrefix(claim.namespace, lane)));
		for (const queue of found?.queues ?? []) {
			if (runner?.heads.peek(queue) === null) runner.heads.forget(queue);
			this.hasWork(partition, queue);
		}
	}

	/** At most so many partitions per call, from a start that differs per instance and moves on with time. */
	#inWindow(claim: Claim, partitions: number[]): number[] {
		if (partitions.length <= PARTITIONS_PER_SCAN) return partitions;
		const start = (fnv1a(claim.instanceId) + this.#cursor) % partitions.length;
		return Array.from({ length: PARTITIONS_PER_SCAN }, (_, n) => partitions[(start + n) % partitions.length] ?? 0);
	}

	#rotate(): void {
		const now = this.#clock.monotonic();
		if (now - this.#rotatedAt < ROTATION_WINDOW_MS) return;
		this.#rotatedAt = now;
		this.#cursor = (this.#cursor + PARTITIONS_PER_SCAN) % this.#runners.length;
	}
}

/** A partition that cannot be read is passed over; only if none could be is the claim refused. */
function throwIfAllFailed(results: PromiseSettledResult<unknown>[]): void {
	const [first] = results;
	if (first?.status === "rejected" && results.every((result) => result.status === "rejected")) throw first.reason;
}

function accepts(claim: Claim, prefix: string, queue: string): boolean {
	return claim.lanes.some(
		(lane) => eligibleQueuePrefix(claim.namespace, lane) === prefix && acceptsKind(claim, lane, queue),
	);
}

function acceptsKind(claim: Claim, lane: string, queue: string): boolean {
	return !claim.kinds || claim.kinds.some((kind) => eligibleQueue(claim.namespace, lane, kind) === queue);
}

function fnv1a(text: string): number {
	let hash = 0x811c9dc5;
	for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
	return hash;
}
