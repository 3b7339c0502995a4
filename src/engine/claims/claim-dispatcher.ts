import type { ClaimingHow } from "../../contract/backend.ts";
import type { Clock } from "../../contract/clock.ts";
import { FlowFabricError, refusalError } from "../../contract/errors.ts";
import { uuidOfHold } from "../../kernel/admission/admitting.ts";
import { guardText } from "../../kernel/admission/guards.ts";
import { isGuardedQueue } from "../../kernel/placement.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import type { GuardName } from "../../kernel/records/guard.ts";
import type { ClaimCommand, ClaimOutcome } from "../../kernel/rules/claim.ts";
import type { GrantCommand } from "../../kernel/rules/grant.ts";
import type { SettleCommand, Settlement } from "../../kernel/rules/settle.ts";
import { type AdmissionRound, type Admissions, admissionRound } from "../admission/admissions.ts";
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
	onBlocked(guard: GuardName, records: readonly ExecutionRecord[]): void;
	/** A partition could not be read and was passed over. */
	onSkipped(partition: number, error: unknown): void;
}

/** A claim writes two records per execution when an attempt is moved away, and a unit holds only so many. */
const CLAIMS_PER_COMMAND = MAX_UNIT_RECORDS / 4;
const INPUT_BUDGET = 4 * 1024 * 1024;
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
	readonly #admissions: Admissions;
	readonly #random: () => number;
	readonly #onBlocked: ClaimDispatcherOptions["onBlocked"];
	readonly waiting: WaitingClaims;
	#closed = false;

	constructor({ mint, onPaused, examine, admissions, random, onBlocked, ...options }: ClaimDispatcherOptions) {
		this.#runners = options.runners;
		this.#clock = options.clock;
		this.#mint = mint;
		this.#shared = options.shared;
		this.#onPaused = onPaused;
		this.#examine = examine;
		this.#admissions = admissions;
		this.#random = random;
		this.#onBlocked = onBlocked;
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
					if (search.admission?.failure) throw search.admission.failure;
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
					budget -= execution.input?.size ?? 0;
				}
				if (search.overdue) return;
				if (executions.length > 0) continue;
				// What was refused admission is out of the way: the next is tried.
				const { admission } = search;
				if (admission && admission.examined > examined) {
					if (admission.examined >= MOST_EXAMINED) return;
					continue;
				}
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
				return recordsOf(await this.#takeShare(claim, search, lane, only, budget, true));
			}
			const split = Math.floor(budget / shares.length);
			const taking = shares.map((share, n) => ({
				partition: share.partition,
				taken: this.#takeShare(claim, search, lane, share, split, isFirst && n === 0),
			}));
			const results = await this.#inTime(taking, !isFirst);
			search.overdue = results.length < shares.length;
			throwIfAllFailed(results);
			const taken = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
			if (taken.length > 0 || search.overdue || shares.length === 1)
				return recordsOf(taken.sort((a, b) => a.score - b.score || (a.record.id < b.record.id ? -1 : 1)));
			for (const share of shares) {
				if (claim.request?.repeated) return [];
				if (search.passedOver?.has(share.partition)) continue;
				const found = await this.#takeShare(claim, search, lane, share, budget, false);
				if (found.length > 0) return recordsOf(found);
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
	#inTime(taking: readonly Taking[], hasSome: boolean): Promise<PromiseSettledResult<Taken[]>[]> {
		return new Promise((resolve) => {
			const results: PromiseSettledResult<Taken[]>[] = [];
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
			for (const { partition, taken } of taking) {
				void Promise.allSettled([taken]).then(([result]) => {
					const some = result.status === "fulfilled" ? result.value : [];
					if (isOver) return this.#giveBack(partition, recordsOf(some));
					results.push(result);
					if (results.length === taking.length) end();
					else if (some.length > 0) hurry();
				});
			}
		});
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
	): Promise<Taken[]> {
		const { namespace, request } = claim;
		const { partition } = share;
		const runner = this.#runners[partition] as PartitionRunner;
		let outcome: ClaimOutcome;
		try {
			outcome = await runner.run(
				this.#command(claim, search, lane, share, inputBudget, atLeastOne),
				PARTITION_PATIENCE_MS,
				(late) => {
					if (late.ok) this.#giveBack(partition, late.executions);
				},
			);
		} catch (error) {
			if (!(error instanceof FlowFabricError) || error.code !== "store_unavailable") throw error;
			// A grant that may yet come must stay the only one: whoever asks again is told of it.
			if (claim.grantTtlMs !== undefined && error.details.applied === "unknown") throw error;
			this.work.notGiven(search, share, error);
			return [];
		}
		if (!outcome.ok) throw refusalError(outcome);
		if (outcome.repeated && request) {
			request.repeated = true;
			return [];
		}
		const { executions, scores, held, blocked } = outcome;
		if (outcome.lanePaused) this.#onPaused(partition, namespace, lane);
		const taken = executions.map((record, n) => ({ record, score: scores[n] ?? 0 }));
		if (held || blocked) {
			const round = this.#roundOf(search);
			round.examined += (held?.length ?? 0) + (blocked?.length ?? 0);
			this.#refused(blocked ?? []);
			if (held) for (const admitted of await this.#admit(claim, search, lane, partition, held)) taken.push(admitted);
		} else if (outcome.cleared) search.passes -= 1;
		else if (executions.length === 0) this.work.ledNowhere(share, outcome.lanePaused === true);
		for (const { record } of taken) this.work.served(record);
		return taken;
	}

	#roundOf(search: ClaimSearch): AdmissionRound {
		search.admission ??= admissionRound(this.#random());
		return search.admission;
	}

	/** Takes candidates that a partition holds for us through their budgets and quotas, and then takes those that passed. */
	async #admit(
		claim: Claim,
		search: ClaimSearch,
		lane: string,
		partition: number,
		held: readonly ExecutionRecord[],
	): Promise<Taken[]> {
		const { namespace, workerId, instanceId, leaseMs, grantTtlMs, request } = claim;
		const settlements = await this.#admissions.ask(held, grantTtlMs !== undefined, this.#roundOf(search));
		const command: SettleCommand = { op: "settle", namespace, lane, settlements, actor: instanceId };
		if (grantTtlMs === undefined) command.leasing = { workerId, instanceId, leaseMs, actor: instanceId };
		else command.granting = { grantUuid: uuidOfHold(held[0]?.hold), grantTtlMs, workerId, instanceId };
		if (request) command.request = { key: request.key, call: request.call };
		const runner = this.#runners[partition] as PartitionRunner;
		const outcome = await runner.run(command, PARTITION_PATIENCE_MS, (late) => {
			if (late.ok) this.#giveBack(partition, late.executions);
		});
		if (!outcome.ok) throw refusalError(outcome);
		if (outcome.repeated && request) request.repeated = true;
		if (outcome.lanePaused) this.#onPaused(partition, namespace, lane);
		const by = new Map(settlements.map(({ executionId, fate }) => [executionId, refusedBy(fate)]));
		this.#refused(outcome.blocked.map((record) => ({ record, by: by.get(record.id) })));
		return outcome.executions.map((record, n) => ({ record, score: outcome.scores[n] ?? 0 }));
	}

	/** What was set aside is looked at once more, as there may have come room before it was. Nobody waits for that. */
	#refused(blocked: readonly { record: ExecutionRecord; by?: GuardName | undefined }[]): void {
		const byGuard = new Map<string, { guard: GuardName; records: ExecutionRecord[] }>();
		for (const { record, by } of blocked) {
			if (!by) continue;
			const group = byGuard.get(guardText(by));
			if (group) group.records.push(record);
			else byGuard.set(guardText(by), { guard: by, records: [record] });
		}
		for (const { guard, records } of byGuard.values()) this.#onBlocked(guard, records);
	}

	#command(
		claim: Claim,
		search: ClaimSearch,
		lane: string,
		share: Share,
		inputBudget: number,
		atLeastOne: boolean,
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
			const admission = this.#termsFor(search, queues);
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
		const admission = this.#termsFor(search, queues);
		if (admission) command.admission = admission;
		return command;
	}

	/** Only work that must be admitted needs any. */
	#termsFor(search: ClaimSearch, queues: readonly string[]): AdmissionRound | undefined {
		return queues.some(isGuardedQueue) ? this.#roundOf(search) : undefined;
	}
}

/** What a partition was asked for. */
interface Taking {
	partition: number;
	taken: Promise<Taken[]>;
}

/** An execution that was given out, and where it stood. */
interface Taken {
	record: ExecutionRecord;
	score: number;
}

const refusedBy = (fate: Settlement["fate"]): GuardName | undefined =>
	fate !== "dropped" && "refusedBy" in fate ? fate.refusedBy : undefined;

const recordsOf = (taken: readonly Taken[]): ExecutionRecord[] => taken.map(({ record }) => record);

/** A partition that cannot be written is passed over; only if none could be is the claim refused. */
function throwIfAllFailed(results: PromiseSettledResult<unknown>[]): void {
	const [first] = results;
	if (first?.status === "rejected" && results.every((result) => result.status === "rejected")) throw first.reason;
}
