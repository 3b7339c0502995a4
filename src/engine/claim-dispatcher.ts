import type { Clock } from "../contract/clock.ts";
import { refusalError } from "../contract/errors.ts";
import { refuse } from "../kernel/outcome.ts";
import type { ExecutionRecord } from "../kernel/records/execution.ts";
import { isTicketKey } from "../kernel/records/ticket.ts";
import type { ClaimCommand, ClaimOutcome } from "../kernel/rules/claim.ts";
import type { GrantCommand } from "../kernel/rules/grant.ts";
import type { Entry } from "../kernel/tx.ts";
import type { UuidMint } from "./mint.ts";
import { PartitionLooks } from "./partition-looks.ts";
import type { PartitionRunner } from "./partition-runner.ts";
import { PartitionScan } from "./partition-scan.ts";
import { MAX_UNIT_RECORDS } from "./unit-draft.ts";
import { type Waiter, WaitingClaims } from "./waiting-claims.ts";
import { type Wanted, WorkHints } from "./work-hints.ts";

/** A claim with every default filled in. */
export interface Claim extends Wanted {
	workerId: string;
	instanceId: string;
	max: number;
	leaseMs: number;
	waitMs: number;
	/** Reserve one for so long instead of leasing. */
	grantTtlMs?: number;
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
	/** How often entries that led nowhere may still be passed. */
	passes: number;
}

interface Candidate extends Entry {
	partition: number;
	queue: string;
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
	/** A lane was found paused: its queues are not looked at again before somebody says so. */
	onPaused(partition: number, namespace: string, lane: string): void;
	/** A partition could not be read and was passed over. */
	onSkipped(partition: number, error: unknown): void;
}

/** A claim writes two records per execution when an attempt is moved away, and a unit holds only so many. */
const CLAIMS_PER_COMMAND = MAX_UNIT_RECORDS / 4;
const INPUT_BUDGET = 4 * 1024 * 1024;
const RETRY_MIN_MS = 4;
/** A command passes up to nine entries that lead nowhere, so a call passes at least 256. */
const PASSES = 32;
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
		this.#hints = new WorkHints(runners.map(({ heads }) => heads));
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
		const call: Call = { claim, waiter, signal, answered: 0, failed: 0, passes: PASSES };
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
				const before = call.passes;
				const executions = await this.#takeShares(call, lane, shares, budget, taken.length === 0);
				taken.push(...executions);
				budget -= executions.reduce((sum, execution) => sum + (execution.input?.size ?? 0), 0);
				if (executions.length === 0 && (call.passes === before || call.passes <= 0)) break;
			}
		}
		return taken;
	}

	/** How many to take from which partition, the best first. */
	async #plan(call: Call, lane: string, wanted: number): Promise<Share[]> {
		const { claim } = call;
		const partitions = this.#hints.partitions(claim.namespace, lane, claim.offer);
		if (partitions.length === 0) return [];
		const candidates: Candidate[] = [];
		await Promise.all(
			this.#scan.nearest(claim.instanceId, partitions).map(async (partition) => {
				for (const candidate of await this.#bestIn(call, lane, partition, wanted)) candidates.push(candidate);
			}),
		);
		candidates.sort(compare);
		return sharesOf(candidates.slice(0, wanted), wanted);
	}

	/** The best entries of a lane in one partition, of as few queues as will do. */
	async #bestIn(call: Call, lane: string, partition: number, wanted: number): Promise<Candidate[]> {
		const { namespace, offer } = call.claim;
		const { heads } = this.#runners[partition] as PartitionRunner;
		const found: Candidate[] = [];
		const take = (queue: string, entries: readonly Entry[]) => {
			const isFirst = found.length === 0;
			for (const { key, score } of entries) found.push({ key, score, partition, queue });
			if (!isFirst) found.sort(compare);
			if (found.length > wanted) found.length = wanted;
		};
		const seen = new Set<string>();
		const probe = async (queue: string) => {
			seen.add(queue);
			take(queue, await this.#probe(call, partition, queue, wanted));
		};
		let order = this.#hints.order(namespace, lane, partition, offer);
		const unknown = order?.unknown ?? [];
		if (unknown.length > 0) {
			await Promise.all(unknown.map(probe));
			order = this.#hints.order(namespace, lane, partition, offer);
		}
		for (let n = 0; ; n++) {
			const place = order?.at(n);
			const worst = found[wanted - 1];
			if (!place || (worst && place.score > worst.score)) return found;
			if (seen.has(place.queue)) continue;
			const known = heads.first(place.queue, wanted);
			if (known && known.length > 0) {
				seen.add(place.queue);
				take(place.queue, known);
			} else {
				await probe(place.queue);
				// Meanwhile any head may have moved.
				order = this.#hints.order(namespace, lane, partition, offer);
				n = -1;
			}
		}
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
			if (entries.length === 0) this.#hints.cool(partition, queue, stamp);
			return entries;
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
		call: Call,
		lane: string,
		shares: Share[],
		budget: number,
		isFirst: boolean,
	): Promise<ExecutionRecord[]> {
		const split = Math.floor(budget / shares.length);
		const results = await Promise.allSettled(
			shares.map((share, n) => this.#takeShare(call, lane, share, split, isFirst && n === 0)),
		);
		const taken = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
		if (taken.length > 0) return taken.sort((a, b) => a.score - b.score).map(({ record }) => record);
		throwIfAllFailed(results);
		if (shares.length === 1 || call.claim.request?.repeated) return [];
		for (const share of shares) {
			const found = await this.#takeShare(call, lane, share, budget, false);
			if (found.length > 0) return found.map(({ record }) => record);
		}
		return [];
	}

	async #takeShare(call: Call, lane: string, share: Share, inputBudget: number, atLeastOne: boolean): Promise<Taken[]> {
		const { claim } = call;
		const max = Math.min(share.count, CLAIMS_PER_COMMAND);
		const { namespace, offer, workerId, instanceId, leaseMs, grantTtlMs, request } = claim;
		const { mint } = this.#options;
		const search = { namespace, lane, queues: share.queues, kinds: offer.kinds, capabilities: offer.capabilities };
		const who = { workerId, instanceId, actor: instanceId };
		const command: ClaimCommand | GrantCommand =
			grantTtlMs === undefined
				? {
						op: "claim",
						...search,
						...who,
						max,
						leaseUuids: Array.from({ length: max }, () => mint.next()),
						leaseMs,
						inputBudget,
						atLeastOne,
						...(request ? { request: { key: request.key, call: request.call } } : undefined),
					}
				: { op: "grant", ...search, ...who, grantUuid: mint.next(), grantTtlMs };
		const outcome = await this.#runners[share.partition]?.run<ClaimOutcome>(command);
		if (!outcome) return [];
		if (!outcome.ok) throw refusalError(outcome);
		if (outcome.repeated && request) {
			request.repeated = true;
			return [];
		}
		const { executions, scores } = outcome;
		if (outcome.cleared) call.passes -= 1;
		else if (executions.length === 0) this.#ledNowhere(claim, lane, share, outcome.lanePaused === true);
		return executions.map((record, n) => ({ record, score: scores[n] ?? 0 }));
	}

	/** Entries that gave nothing: either nobody may have them now, or others took them and the index will tell. */
	#ledNowhere({ namespace }: Claim, lane: string, { partition, queues }: Share, paused: boolean): void {
		if (paused) this.#options.onPaused(partition, namespace, lane);
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

/** An execution that was given out, and where it stood. */
interface Taken {
	record: ExecutionRecord;
	score: number;
}

const compare = (a: Entry, b: Entry): number => a.score - b.score || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

/** A ticket stands for more than itself: what is left to take is spread over the partitions that have one. */
function sharesOf(candidates: readonly Candidate[], wanted: number): Share[] {
	const shares = new Map<number, Share & { hasTicket: boolean }>();
	for (const { partition, queue, key } of candidates) {
		let share = shares.get(partition);
		if (!share) shares.set(partition, (share = { partition, queues: [], count: 0, hasTicket: false }));
		share.count += 1;
		share.hasTicket ||= isTicketKey(key);
		if (!share.queues.includes(queue)) share.queues.push(queue);
	}
	const all = [...shares.values()];
	const deep = all.filter(({ hasTicket }) => hasTicket);
	if (deep.length > 0)
		for (let left = wanted - candidates.length; left > 0; left--) (deep[left % deep.length] as Share).count += 1;
	return all;
}

/** A partition that cannot be written is passed over; only if none could be is the claim refused. */
function throwIfAllFailed(results: PromiseSettledResult<unknown>[]): void {
	const [first] = results;
	if (first?.status === "rejected" && results.every((result) => result.status === "rejected")) throw first.reason;
}
