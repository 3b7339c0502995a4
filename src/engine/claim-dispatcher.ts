import type { Clock } from "../contract/clock.ts";
import { refusalError } from "../contract/errors.ts";
import { refuse } from "../kernel/outcome.ts";
import { queueScore } from "../kernel/placement.ts";
import type { ExecutionRecord } from "../kernel/records/execution.ts";
import type { ClaimCommand, ClaimOutcome } from "../kernel/rules/claim.ts";
import type { Entry } from "../kernel/tx.ts";
import type { UuidMint } from "./mint.ts";
import { PartitionLooks } from "./partition-looks.ts";
import type { PartitionRunner } from "./partition-runner.ts";
import { PartitionScan } from "./partition-scan.ts";
import { MAX_UNIT_RECORDS } from "./unit-draft.ts";
import { type Waiter, WaitingClaims } from "./waiting-claims.ts";
import { acceptsKind, type Wanted, WorkHints } from "./work-hints.ts";

/** A claim with every default filled in. */
export interface Claim extends Wanted {
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

/** A claim being served, and how many partitions could be asked for it. */
interface Call {
	claim: Claim;
	waiter: Waiter;
	signal: AbortSignal | undefined;
	answered: number;
	failed: number;
}

/** Work for one lane in one partition. */
interface Share {
	partition: number;
	queues: string[];
	count: number;
}

export interface ClaimDispatcherOptions {
	runners: readonly PartitionRunner[];
	clock: Clock;
	mint: UuidMint;
	/** Whether other engines may take work too: what is known here of a queue may then be old. */
	shared: boolean;
	/** A partition could not be read and was passed over. */
	onSkipped(partition: number, error: unknown): void;
}

/** A claim writes two records per execution when an attempt is moved away, and a unit holds only so many. */
const CLAIMS_PER_COMMAND = MAX_UNIT_RECORDS / 4;
const INPUT_BUDGET = 4 * 1024 * 1024;
const RETRY_MIN_MS = 4;
/** A claim waits this long for partitions that are slow to say what they have; it may find work elsewhere. */
const LOOK_PATIENCE_MS = 1000;

/**
 * Hands out work. How it finds it:
 *
 * - Hints say which queues have work. A claim takes from those: the best among the partitions it probes, lane by lane in
 *   the order it gave.
 * - If it found nothing it asks the partitions of its window that are not known here which queues are not empty. What is
 *   known stays so by notices: whatever comes later finds the claim waiting, and nothing that was there is slept through.
 * - Work wakes the claim that waits longest. A claim that leaves, for whatever reason, wakes the next if work is left.
 */
export class ClaimDispatcher {
	readonly #options: ClaimDispatcherOptions;
	readonly #runners: readonly PartitionRunner[];
	readonly #clock: Clock;
	readonly #hints: WorkHints;
	readonly #waiting: WaitingClaims;
	readonly #scan: PartitionScan;
	readonly #looks: PartitionLooks;
	#closed = false;

	constructor(options: ClaimDispatcherOptions) {
		const { runners, clock, onSkipped } = options;
		this.#options = options;
		this.#runners = runners;
		this.#clock = clock;
		this.#hints = new WorkHints(runners.length);
		this.#waiting = new WaitingClaims(clock);
		this.#scan = new PartitionScan(runners.length);
		const onFound = (partition: number, queue: string) => void this.hasWork(partition, queue);
		this.#looks = new PartitionLooks({ runners, clock, onFound, onFailed: onSkipped });
	}

	/** A queue has work, or may have; true when that woke a claim. */
	hasWork(partition: number, queue: string): boolean {
		this.#hints.heat(partition, queue);
		return this.#waiting.wakeFor(queue);
	}

	/** Work that was told of while it was on its way is now stored; whoever looked for it too early found nothing. */
	hasStored(partition: number, queue: string): void {
		if (this.#hints.isHot(partition, queue)) this.#hints.heat(partition, queue);
		else this.hasWork(partition, queue);
	}

	/** Looks anew at these partitions: notices may have been missed, or what kept their work back is gone. */
	lookAt(partitions: readonly number[]): Promise<void> {
		return this.#looks.refresh(partitions);
	}

	/** At the start, so that the first claims see all there is. */
	lookEverywhere(): Promise<void> {
		return this.lookAt([...this.#runners.keys()]);
	}

	async claim(claim: Claim, signal?: AbortSignal): Promise<ExecutionRecord[]> {
		const waiter = this.#waiting.enter(claim);
		const call: Call = { claim, waiter, signal, answered: 0, failed: 0 };
		const deadline = this.#clock.monotonic() + claim.waitMs;
		try {
			for (let tries = 0; ; tries++) {
				this.#scan.turn(this.#clock.monotonic());
				let taken = await this.#take(call);
				if (taken.length === 0 && !claim.request?.repeated && (await this.#lookAround(call))) {
					taken = await this.#take(call);
				}
				const left = deadline - this.#clock.monotonic();
				const over = left <= 0 || signal?.aborted || this.#closed || claim.request?.repeated;
				if (taken.length > 0 || over) return taken;
				// A queue still hot had entries that others took first: look again soon, and less soon each time.
				const pause = this.#hints.has(claim) ? Math.min(left, RETRY_MIN_MS * 2 ** Math.min(tries, 8)) : left;
				await this.#waiting.sleep(waiter, pause, signal);
			}
		} finally {
			this.#waiting.leave(waiter);
			this.#waiting.wakeNext((wanted) => this.#hints.has(wanted));
		}
	}

	/** Ends every wait; the claims come back empty. */
	close(): void {
		this.#closed = true;
		this.#looks.close();
		this.#waiting.wakeAll();
	}

	async #take(call: Call): Promise<ExecutionRecord[]> {
		const { claim } = call;
		const taken: ExecutionRecord[] = [];
		let budget = INPUT_BUDGET;
		for (const lane of claim.lanes) {
			while (taken.length < claim.max && budget > 0 && !claim.request?.repeated) {
				const shares = await this.#plan(call, lane, claim.max - taken.length);
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
	async #plan(call: Call, lane: string, wanted: number): Promise<Share[]> {
		const { claim } = call;
		const partitions = this.#hints.partitions(claim.namespace, lane);
		if (partitions.length === 0) return [];
		const candidates: (Entry & { partition: number; queue: string })[] = [];
		const probes = this.#scan.nearest(claim.instanceId, partitions).flatMap((partition) =>
			this.#hints
				.queues(claim.namespace, lane, partition)
				.filter((queue) => acceptsKind(claim, lane, queue))
				.map(async (queue) => {
					for (const { key, score } of await this.#probe(call, partition, queue, wanted))
						candidates.push({ key, score, partition, queue });
				}),
		);
		await Promise.all(probes);
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

	/**
	 * The best entries of a queue. Where others write too, only the store can say that a queue is empty: while our own
	 * commit that takes the last entry known here is on its way, another's may add one, and no notice tells of that.
	 */
	async #probe(call: Call, partition: number, queue: string, wanted: number): Promise<readonly Entry[]> {
		const runner = this.#runners[partition] as PartitionRunner;
		const stamp = this.#hints.stampOf(partition, queue);
		try {
			const known = runner.heads.first(queue, wanted);
			let entries = known ?? (await runner.look(queue, wanted));
			if (known?.length === 0 && this.#options.shared) {
				entries = (await runner.ask((store, at) => store.first(at, queue, wanted))).entries;
				if (entries.length > 0) runner.heads.forget(queue);
			}
			call.answered += 1;
			if (entries.length > 0) return entries;
			// It was said to have work while we looked: that is worth another look now, not after a pause.
			if (stamp !== undefined && stamp !== (this.#hints.stampOf(partition, queue) ?? stamp)) {
				return await this.#probe(call, partition, queue, wanted);
			}
			this.#hints.cool(partition, queue, stamp);
			return [];
		} catch (error) {
			call.failed += 1;
			this.#looks.failed(partition, error);
			this.#hints.cool(partition, queue);
			return [];
		}
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
			leaseUuids: Array.from({ length: max }, () => this.#options.mint.next()),
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
		if (outcome.executions.length === 0) this.#ledNowhere(share, outcome.lanePaused === true);
		return outcome.executions;
	}

	/** Entries that gave nothing: either nobody may have them now, or others took them and the index will tell. */
	#ledNowhere({ partition, queues }: Share, paused: boolean): void {
		// Nothing tells when the lane is open again: whoever claims next looks.
		if (paused) this.#looks.doubt(partition);
		for (const queue of queues) {
			if (paused) this.#hints.cool(partition, queue);
			else this.#runners[partition]?.heads.forget(queue);
		}
	}

	/**
	 * Asks the partitions of the claim's window that are not known here what they have, and all of them if nobody has
	 * answered yet; true when some had to be asked. Work that appears meanwhile does not wait for the slowest of them.
	 */
	async #lookAround(call: Call): Promise<boolean> {
		const window = this.#scan.window(call.claim.instanceId);
		const cutOff = call.failed > 0 && call.answered === 0;
		const asked = cutOff ? window : window.filter((partition) => !this.#looks.isKnown(partition));
		if (asked.length === 0) return false;
		let failed = 0;
		const looks = asked.map(async (partition) => {
			if (!(await this.#looks.look(partition))) failed += 1;
		});
		void Promise.all(looks).then(() => call.waiter.wake?.());
		await this.#waiting.sleep(call.waiter, LOOK_PATIENCE_MS, call.signal);
		if (failed === window.length) throw refusalError(refuse("store_unavailable"));
		call.answered += asked.length - failed;
		return true;
	}
}

/** A partition that cannot be written is passed over; only if none could be is the claim refused. */
function throwIfAllFailed(results: PromiseSettledResult<unknown>[]): void {
	const [first] = results;
	if (first?.status === "rejected" && results.every((result) => result.status === "rejected")) throw first.reason;
}
