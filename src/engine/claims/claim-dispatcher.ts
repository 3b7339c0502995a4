import type { ClaimingHow } from "../../contract/backend.ts";
import type { Clock } from "../../contract/clock.ts";
import { FlowFabricError, refusalError } from "../../contract/errors.ts";
import type { AdmissionTerms } from "../../kernel/admission/admitting.ts";
import { carriedBytes } from "../../kernel/carried.ts";
import { isGuardedQueue } from "../../kernel/placement.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import type { ClaimCommand, ClaimOutcome } from "../../kernel/rules/claim.ts";
import type { GrantCommand } from "../../kernel/rules/grant.ts";
import { type AdmissionRound, type Admissions, admissionRound } from "../admission/admissions.ts";
import { type Admitting, type Settled, Settler, type SettlerOptions } from "../admission/settler.ts";
import type { UuidMint } from "../mint.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { PARTITION_PATIENCE_MS } from "../partition/store-line.ts";
import { MAX_UNIT_RECORDS } from "../partition/unit-draft.ts";
import type { Share } from "./picking.ts";
import { type Waiter, WaitingClaims } from "./waiting-claims.ts";
import { WorkFinder } from "./work-finder.ts";
import type { Wanted } from "./work-hints.ts";
import type { ClaimSearch } from "./work-picker.ts";

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
	onSearched?: ClaimingHow["onSearched"];
}

/** A claim whose leases, or whose grant, are remembered under a request id. */
export interface RememberedRequest {
	key: string;
	/** Which of the calls under that id this is. */
	call: string;
	/** Set when a partition says that another call has taken something there: this one must take nothing else. */
	repeated: boolean;
}

export interface ClaimDispatcherOptions {
	runners: readonly PartitionRunner[];
	clock: Clock;
	mint: UuidMint;
	/** Whether other engines may take work too: what is known here of a queue may then be old. */
	shared: boolean;
	/** Where this engine comes first for a lane; undefined when it does everywhere. */
	preferred(lane: string): ReadonlySet<number> | undefined;
	/** Work that waits beyond what a claim offers; resolves when it has been seen to. */
	examine(namespace: string, places: readonly [partition: number, queue: string][]): Promise<void> | undefined;
	/** A lane was found paused: its queues are not looked at again before somebody says so. */
	onPaused(partition: number, namespace: string, lane: string): void;
	/** Asks budgets and quotas. */
	admissions: Admissions;
	random(): number;
	/** These were refused by a budget or quota in another partition, and set aside. */
	onBlocked: SettlerOptions["onBlocked"];
	/** A partition could not be read and was passed over. */
	onSkipped(partition: number, error: unknown): void;
}

/** A claim writes two records per execution when an attempt is moved away, and a unit holds only so many. */
const CLAIMS_PER_COMMAND = MAX_UNIT_RECORDS / 4;
/** 4 MiB of what is handed over, and some room for the ids, names and times beside it. */
const INPUT_BUDGET = (4 * 1024 + 256) * 1024;
const RETRY_MIN_MS = 4;
/** A command passes up to nine entries that lead nowhere, so a call passes at least 256. */
const PASSES = 32;
/** Candidates a call examines that have to be admitted by budgets and quotas. */
const MOST_EXAMINED = 256;
/** A claim waits this long for partitions that are slow to answer; it may find work elsewhere, or have leases already. */
const PATIENCE_MS = 1000;
/** Who waits for so long hears in time of what other engines stored before; who does not has to ask. */
const HEARD_OF_MS = 100;

/**
 * Hands out work. A claim takes what the finder shows it, lane by lane in the order it gave; if there is nothing it waits.
 * Work wakes the claim that waits longest. A claim that leaves, for whatever reason, wakes the next if work is left.
 */
export class ClaimDispatcher {
	readonly work: WorkFinder;
	readonly #runners: readonly PartitionRunner[];
	readonly #clock: Clock;
	readonly #mint: UuidMint;
	readonly #shared: boolean;
	readonly #onPaused: ClaimDispatcherOptions["onPaused"];
	readonly #examine: ClaimDispatcherOptions["examine"];
	readonly #settler: Settler;
	readonly #random: () => number;
	readonly waiting: WaitingClaims;
	#closed = false;

	constructor({ mint, onPaused, examine, admissions, random, onBlocked, ...options }: ClaimDispatcherOptions) {
		this.#runners = options.runners;
		this.#clock = options.clock;
		this.#mint = mint;
		this.#shared = options.shared;
		this.#onPaused = onPaused;
		this.#examine = examine;
		this.#random = random;
		this.#settler = new Settler({
			runners: options.runners,
			admissions,
			onBlocked,
			onLate: (partition, records) => this.#giveBack(partition, records),
		});
		this.waiting = new WaitingClaims(options.clock);
		this.work = new WorkFinder({ ...options, onWork: (partition, queue) => this.waiting.wakeFor(partition, queue) });
	}

	async claim(claim: Claim, signal?: AbortSignal): Promise<ExecutionRecord[]> {
		const waiter = this.waiting.enter(claim);
		const search: ClaimSearch = {
			wanted: claim,
			instanceId: claim.instanceId,
			answered: 0,
			failed: 0,
			skipped: 0,
			passedOver: undefined,
			passes: PASSES,
			admission: undefined,
			unasked: undefined,
			everywhere: false,
			onlyKnown: false,
			hurried: this.#shared && claim.waitMs < HEARD_OF_MS,
			overdue: false,
		};
		const began = this.#clock.monotonic();
		const deadline = began + claim.waitMs;
		try {
			for (let tries = 0; ; tries++) {
				this.work.turn(search);
				search.unasked = undefined;
				let taken = await this.#take(claim, search);
				const afresh = search.hurried && tries === 0;
				if (taken.length === 0 && !claim.request?.repeated) {
					if (await this.#lookAround(search, afresh, waiter, signal)) taken = await this.#take(claim, search);
				}
				if (tries === 0) {
					const beyond = this.work.beyond(claim);
					const seenTo = beyond.length > 0 ? this.#examine(claim.namespace, beyond) : undefined;
					if (taken.length === 0 && seenTo) await this.#unlessWoken(seenTo, waiter, signal);
				}
				const left = deadline - this.#clock.monotonic();
				if (taken.length > 0 || signal?.aborted || this.#closed || claim.request?.repeated) return taken;
				if (left <= 0) {
					if (search.unasked !== undefined) throw search.unasked;
					await this.work.makeSure(search, began);
					return taken;
				}
				// A queue still hot had entries that others took first: look again soon, and less soon each time.
				const pause = this.work.hasFor(claim) ? Math.min(left, RETRY_MIN_MS * 2 ** Math.min(tries, 8)) : left;
				await this.waiting.sleep(waiter, pause, signal);
			}
		} finally {
			this.waiting.leave(waiter);
			claim.onSearched?.({ probed: search.answered + search.skipped, skipped: search.skipped });
			// Whoever has got work starts on it before the next looks for more.
			if (waiter.wokenFor && this.waiting.sleeping > 0) this.#clock.defer(() => this.#passOn(waiter));
		}
	}

	/**
	 * Wakes somebody else for what a claim was woken for, if that is still there. Nothing else needs to be passed on: who
	 * finds work in a hot queue was not woken for it, and who sleeps while one is hot looks again soon.
	 */
	#passOn({ wokenFor = new Map() }: Waiter): void {
		for (const [queue, partition] of wokenFor)
			if (this.work.isHot(partition, queue)) this.waiting.wakeFor(partition, queue);
	}

	/** Ends every wait; the claims come back empty. */
	close(): void {
		this.#closed = true;
		this.work.close();
		this.waiting.wakeAll();
	}

	/** True when partitions had to be asked. */
	async #lookAround(
		search: ClaimSearch,
		afresh: boolean,
		waiter: Waiter,
		signal: AbortSignal | undefined,
	): Promise<boolean> {
		const looking = this.work.lookAround(search, afresh);
		if (looking) await this.#unlessWoken(looking, waiter, signal);
		return looking !== undefined;
	}

	/** Awaits what a slow partition may hold up for long. Work that appears meanwhile does not wait for that. */
	async #unlessWoken(slow: Promise<void>, waiter: Waiter, signal: AbortSignal | undefined): Promise<void> {
		const woken = this.waiting.sleep(waiter, PATIENCE_MS, signal);
		await Promise.race([slow, woken]).finally(() => waiter.wake?.());
		// If it fails later, other claims will tell.
		slow.catch(() => {});
	}

	/** What was claimed must be told even if what comes behind it fails, or nobody would know of its lease. */
	async #take(claim: Claim, search: ClaimSearch): Promise<ExecutionRecord[]> {
		const taken: ExecutionRecord[] = [];
		// What budgets and quotas said counts for one look: whoever is woken is so because something has changed.
		search.admission = undefined;
		try {
			await this.#takeInto(taken, claim, search);
		} catch (error) {
			if (taken.length === 0) throw error;
		}
		search.unasked ??= (search as ClaimSearch).admission?.failure;
		return taken;
	}

	async #takeInto(taken: ExecutionRecord[], claim: Claim, search: ClaimSearch): Promise<void> {
		let budget = INPUT_BUDGET;
		for (const lane of claim.lanes) {
			const before = taken.length;
			let misses = 0;
			while (taken.length < claim.max && budget > 0 && !claim.request?.repeated) {
				// Who has got something of a lane starts on it rather than ask the store whether there is more.
				search.onlyKnown = taken.length > before;
				const planned = this.work.plan(search, lane, claim.max - taken.length, taken.length === 0);
				const shares = planned instanceof Promise ? await planned : planned;
				if (shares.length === 0) break;
				const { passes } = search;
				const examined = search.admission?.examined ?? 0;
				const executions = await this.#takeShares(claim, search, lane, shares, budget, taken.length === 0);
				for (const execution of executions) {
					taken.push(execution);
					budget -= carriedBytes(execution);
				}
				if (search.overdue) return;
				const { admission } = search;
				if (admission && admission.examined >= MOST_EXAMINED) return;
				// What was refused admission is out of the way: the next is tried.
				if (executions.length > 0 || (admission && admission.examined > examined)) continue;
				// Others took it first: what is left is asked for once more before this claim goes to sleep.
				if (search.passes === passes && ++misses > 1) break;
				if (search.passes <= 0) break;
			}
		}
	}

	/**
	 * Takes all shares at once, the budget of input split among them; only if nothing fits that way one after the other.
	 * One that could not be taken is told of only if none could.
	 */
	async #takeShares(
		claim: Claim,
		search: ClaimSearch,
		lane: string,
		shares: Share[],
		budget: number,
		isFirst: boolean,
	): Promise<ExecutionRecord[]> {
		try {
			const [only] = shares;
			if (only && shares.length === 1 && isFirst) {
				const given = await this.#takeShare(claim, search, lane, only, budget, true);
				return recordsOf(given.held.length === 0 ? given.taken : await this.#admitted(claim, search, lane, [given]));
			}
			const split = Math.floor(budget / shares.length);
			const examined = search.admission?.examined ?? 0;
			const taking = shares.map((share, n) =>
				this.#takeShare(claim, search, lane, share, split, isFirst && n === 0, shares.length),
			);
			const results = await this.#inTime(taking, !isFirst, (late) => this.#handBack(claim, lane, late));
			search.overdue = results.length < shares.length;
			throwIfAllFailed(results);
			const given = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
			const taken = await this.#admitted(claim, search, lane, given);
			const isExamined = (search.admission?.examined ?? 0) > examined;
			if (taken.length > 0 || search.overdue || shares.length === 1 || isExamined)
				return recordsOf(taken.sort((a, b) => a.score - b.score || (a.record.id < b.record.id ? -1 : 1)));
			for (const share of shares) {
				if (claim.request?.repeated) return [];
				if (search.passedOver?.has(share.partition)) continue;
				const found = await this.#takeShare(claim, search, lane, share, budget, false);
				const some = await this.#admitted(claim, search, lane, [found]);
				if (some.length > 0) return recordsOf(some);
			}
			return [];
		} finally {
			this.work.taken(shares);
		}
	}

	/**
	 * What partitions have given. Nobody with leases in hand waits long for more, since they run out meanwhile: what comes
	 * later goes back.
	 */
	#inTime(
		taking: readonly Promise<Given>[],
		hasSome: boolean,
		onLate: (given: Given) => void,
	): Promise<PromiseSettledResult<Given>[]> {
		return new Promise((resolve) => {
			const results: PromiseSettledResult<Given>[] = [];
			let isOver = false;
			let callOff: (() => void) | undefined;
			const end = () => {
				isOver = true;
				callOff?.();
				resolve(results);
			};
			const hurry = () => {
				callOff ??= this.#clock.setTimer(PATIENCE_MS, end);
			};
			if (hasSome) hurry();
			for (const each of taking) {
				void Promise.allSettled([each]).then(([result]) => {
					const given = result.status === "fulfilled" ? result.value : undefined;
					if (isOver) return given && onLate(given);
					results.push(result);
					if (results.length === taking.length) end();
					else if (given && given.taken.length + given.held.length > 0) hurry();
				});
			}
		});
	}

	/** Nobody waits for it any more. */
	#handBack(claim: Claim, lane: string, given: Given): void {
		this.#giveBack(given.partition, recordsOf(given.taken));
		this.#settler.drop(admitting(claim, lane), given);
	}

	/** What cannot be given back has a lease that lapses. */
	#giveBack(partition: number, records: readonly ExecutionRecord[]): void {
		for (const { id: executionId, lease } of records) {
			if (!lease) continue;
			const release = { op: "release" as const, executionId, fence: { leaseId: lease.id, epoch: lease.epoch } };
			this.#runners[partition]?.run(release).catch(() => {});
		}
	}

	async #takeShare(
		claim: Claim,
		search: ClaimSearch,
		lane: string,
		share: Share,
		inputBudget: number,
		atLeastOne: boolean,
		among = 1,
	): Promise<Given> {
		const { namespace, request } = claim;
		const { partition } = share;
		const nothing: Given = { partition, taken: [], held: [] };
		const runner = this.#runners[partition] as PartitionRunner;
		let outcome: ClaimOutcome;
		try {
			outcome = await runner.run(
				this.#command(claim, search, lane, share, inputBudget, atLeastOne, among),
				PARTITION_PATIENCE_MS,
				(late) => {
					if (late.ok) this.#handBack(claim, lane, givenBy(partition, late));
				},
			);
		} catch (error) {
			if (!(error instanceof FlowFabricError) || error.code !== "store_unavailable") throw error;
			// A grant that may yet come must stay the only one: whoever asks again is told of it.
			if (claim.grantTtlMs !== undefined && error.details.applied === "unknown") throw error;
			this.work.notGiven(search, share, error);
			return nothing;
		}
		if (!outcome.ok) throw refusalError(outcome);
		if (outcome.repeated && request) {
			request.repeated = true;
			return nothing;
		}
		const { executions, held, blocked } = outcome;
		if (outcome.lanePaused) this.#onPaused(partition, namespace, lane);
		if (held || blocked) {
			this.#roundOf(search).examined += (held?.length ?? 0) + (blocked?.length ?? 0);
			if (blocked) this.#settler.refused(blocked);
		} else if (outcome.cleared) search.passes -= 1;
		else if (executions.length === 0) this.work.ledNowhere(share, outcome.lanePaused === true);
		for (const record of executions) this.work.served(record);
		return givenBy(partition, outcome);
	}

	#roundOf(search: ClaimSearch): AdmissionRound {
		search.admission ??= admissionRound(this.#random());
		return search.admission;
	}

	/** All that was given, with what budgets and quotas admit of what is held for us. */
	async #admitted(claim: Claim, search: ClaimSearch, lane: string, given: readonly Given[]): Promise<Taken[]> {
		const taken = given.flatMap((each) => each.taken);
		const holding = given.filter(({ held }) => held.length > 0);
		if (holding.length === 0) return taken;
		const round = this.#roundOf(search);
		let settled: Settled[] = [];
		try {
			settled = await this.#settler.settle(admitting(claim, lane), holding, round);
		} catch (error) {
			// What was given at once must be told; and a grant that may yet come must stay the only one.
			if (
				!(error instanceof FlowFabricError) ||
				(claim.grantTtlMs !== undefined && error.details.applied === "unknown")
			) {
				if (taken.length === 0) throw error;
			}
			round.failure ??= error;
		}
		for (const { partition, outcome } of settled) {
			if (outcome.repeated && claim.request) claim.request.repeated = true;
			if (outcome.lanePaused) this.#onPaused(partition, claim.namespace, lane);
			outcome.executions.forEach((record, n) => {
				this.work.served(record);
				taken.push({ record, score: outcome.scores[n] ?? 0 });
			});
		}
		return taken;
	}

	#command(
		claim: Claim,
		search: ClaimSearch,
		lane: string,
		share: Share,
		inputBudget: number,
		atLeastOne: boolean,
		among: number,
	): ClaimCommand | GrantCommand {
		const { namespace, offer, workerId, instanceId, leaseMs, grantTtlMs, request } = claim;
		const { kinds, capabilities } = offer;
		const { queues } = share;
		const mint = this.#mint;
		if (grantTtlMs !== undefined) {
			const grantUuid = mint.next();
			const who = { workerId, instanceId, actor: instanceId };
			const command = { op: "grant" as const, namespace, lane, queues, kinds, capabilities, ...who };
			const asked = request && { request: { key: request.key, call: request.call } };
			const admission = this.#termsFor(search, queues, among);
			return { ...command, grantUuid, grantTtlMs, ...asked, ...(admission ? { admission } : undefined) };
		}
		const max = Math.min(share.count, CLAIMS_PER_COMMAND);
		const command: ClaimCommand = {
			op: "claim",
			namespace,
			lane,
			queues,
			kinds,
			capabilities,
			max,
			leaseUuids: Array.from({ length: max }, () => mint.next()),
			leaseMs,
			workerId,
			instanceId,
			inputBudget,
			atLeastOne,
			actor: instanceId,
		};
		if (request) command.request = { key: request.key, call: request.call };
		const admission = this.#termsFor(search, queues, among);
		if (admission) command.admission = admission;
		return command;
	}

	/** Only work that must be admitted needs any. So many partitions are asked at the same time, and share what is left. */
	#termsFor(search: ClaimSearch, queues: readonly string[], among: number): AdmissionTerms | undefined {
		if (!queues.some(isGuardedQueue)) return undefined;
		const { jitter, refused, unreadable, examined } = this.#roundOf(search);
		const most = Math.max(1, Math.floor((MOST_EXAMINED - examined) / among));
		return { jitter, refused, unreadable, isAlone: among === 1, most };
	}
}

/** What a partition gave, and what it holds until budgets and quotas have admitted it. */
interface Given {
	partition: number;
	taken: Taken[];
	held: Taken[];
}

/** An execution that was given out, and where it stood. */
interface Taken {
	record: ExecutionRecord;
	score: number;
}

const givenBy = (partition: number, { executions, scores, held = [] }: Extract<ClaimOutcome, { ok: true }>): Given => ({
	partition,
	taken: executions.map((record, n) => ({ record, score: scores[n] ?? 0 })),
	held,
});

function admitting(claim: Claim, lane: string): Admitting {
	const { namespace, workerId, instanceId, leaseMs, grantTtlMs, request } = claim;
	return {
		namespace,
		lane,
		workerId,
		instanceId,
		leaseMs,
		...(grantTtlMs === undefined ? undefined : { grantTtlMs }),
		...(request ? { request: { key: request.key, call: request.call } } : undefined),
	};
}

const recordsOf = (taken: readonly Taken[]): ExecutionRecord[] => taken.map(({ record }) => record);

/** A partition that cannot be written is passed over; only if none could be is the claim refused. */
function throwIfAllFailed(results: PromiseSettledResult<unknown>[]): void {
	const [first] = results;
	if (first?.status === "rejected" && results.every((result) => result.status === "rejected")) throw first.reason;
}
