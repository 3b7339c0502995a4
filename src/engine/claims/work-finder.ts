import type { Clock } from "../../contract/clock.ts";
import { refusalError } from "../../contract/errors.ts";
import { refuse } from "../../kernel/outcome.ts";
import { eligibleQueuePrefix, eligibleQueuesOf } from "../../kernel/placement.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import type { Entry } from "../../kernel/tx.ts";
import { mapBounded } from "../bounded.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { PARTITION_PATIENCE_MS } from "../partition/store-line.ts";
import { PartitionLooks } from "./partition-looks.ts";
import { PartitionScan } from "./partition-scan.ts";
import { Picking, type Share } from "./picking.ts";
import { StoreProbe } from "./store-probe.ts";
import { laneName, laneNameOf, type Wanted, WorkHints } from "./work-hints.ts";
import { type ClaimSearch, type LaneQuery, type QueueAt, WorkPicker } from "./work-picker.ts";

export interface WorkFinderOptions {
	runners: readonly PartitionRunner[];
	clock: Clock;
	/** Whether other engines may take work too: what is known here of a queue may then be old. */
	shared: boolean;
	/** Where this engine comes first for a lane; undefined when it does everywhere. */
	preferred(lane: string): ReadonlySet<number> | undefined;
	/** A queue has work; true when somebody waited for that. */
	onWork(partition: number, queue: string): boolean;
	/** A partition could not be read and was passed over. */
	onSkipped(partition: number, error: unknown): void;
}

/**
 * Where others come first, new work is theirs for this long. Helping them sooner costs more than it gains: two engines,
 * one keeping up with its work, re-read what the other had in memory (measured: 0.6 × the throughput at 5 ms).
 */
const OTHERS_FIRST_MS = 20;

/**
 * How many queues whose heads are not known a claim looks into, and how many at a time. A lane of hundreds of kinds is
 * known after one claim; one of ten thousand is gone through in turns. Only while nothing is found are there more.
 */
const LOOKS = 256;
const LOOKS_AT_ONCE = 64;
const MORE_TRIES = 2;

/** Queues beyond its offer that one claim has examined. */
const MOST_EXAMINED = 64;

/** By how much more work of others must have waited than this engine's own to come before it. */
const OVERTAKEN_MS = 1000;

/**
 * Finds work for claims.
 *
 * - Hints say which queues have work. A claim is shown those: the best among the partitions it may probe.
 * - If there is nothing it asks the partitions of its window that are not known here which queues are not empty. What is
 *   known stays so by notices, so nothing that was there is slept through. A claim that leaves before a notice could come
 *   asks all of them, so that work another engine has stored is there for everybody.
 * - A partition that does not answer is passed over. Before a claim is told that there is nothing, at least one must have
 *   answered since it began: that nothing is known of work may be because nothing is known of the store.
 * - Where several engines have workers for a lane, each comes first in some partitions. It takes from the others' only
 *   when there is nothing in its own, and only what they have left for a moment. Once per rotation a claim looks at theirs
 *   too, so that work is not overtaken for long where it waits for workers that are busy.
 */
export class WorkFinder {
	readonly #options: WorkFinderOptions;
	readonly #runners: readonly PartitionRunner[];
	readonly #hints: WorkHints;
	readonly #scan: PartitionScan;
	readonly #looks: PartitionLooks;
	readonly #picker: WorkPicker;
	readonly #probe: StoreProbe;
	/** Queues where others come first, that will be hot here in a moment. */
	readonly #later = new Set<string>();
	#closed = false;

	constructor(options: WorkFinderOptions) {
		const { runners, clock, onSkipped } = options;
		this.#options = options;
		this.#runners = runners;
		this.#hints = new WorkHints(
			runners.map(({ heads }) => heads),
			!options.shared,
		);
		this.#scan = new PartitionScan(runners.length);
		const onFound = (partition: number, queue: string) => void this.hasWork(partition, queue);
		this.#looks = new PartitionLooks({ runners, clock, onFound, onFailed: onSkipped });
		const onFailed = (partition: number, error: unknown) => this.#looks.failed(partition, error);
		this.#probe = new StoreProbe({ runners, clock, onFailed });
		this.#picker = new WorkPicker({
			runners,
			hints: this.#hints,
			scan: this.#scan,
			onTooNew: (partition, queue) => {
				this.#hints.cool(partition, queue);
				this.#hearLater(partition, queue);
			},
		});
	}

	/** A queue has work, or may have; true when somebody waited for that. */
	hasWork(partition: number, queue: string): boolean {
		this.#hints.heat(partition, queue);
		return this.#options.onWork(partition, queue);
	}

	/** Work that was told of while it was on its way is now stored; whoever looked for it too early found nothing. */
	hasStored(partition: number, queue: string): void {
		if (this.#hints.isHot(partition, queue)) this.#hints.heat(partition, queue);
		else this.hasWork(partition, queue);
	}

	/**
	 * A notice said that a queue has work; true when somebody waited for that. Where others come first it counts a moment
	 * later.
	 */
	hasHeard(partition: number, queue: string): boolean {
		if (this.#options.preferred(laneNameOf(queue))?.has(partition) !== false) return this.hasWork(partition, queue);
		this.#hearLater(partition, queue);
		return false;
	}

	/** Whether a queue is known to have work. */
	isHot(partition: number, queue: string): boolean {
		return this.#hints.isHot(partition, queue);
	}

	/** Whether fewer queues than so many of its lane are known to have work in this partition. */
	hasRoomBeside(partition: number, queue: string, most: number): boolean {
		return this.#hints.hasRoomBeside(partition, queue, most);
	}

	/** An execution was given out. */
	served(record: ExecutionRecord): void {
		this.#picker.served(record);
	}

	/** Whether there is work for a claim, as far as is known. */
	hasFor(wanted: Wanted): boolean {
		return this.#hints.has(wanted);
	}

	/** Some queues of a claim's lanes with work that requires more than it offers; others every time. */
	beyond({ namespace, lanes, offer }: Wanted): QueueAt[] {
		const found: QueueAt[] = [];
		if (this.#hints.demanding === 0) return found;
		for (const lane of lanes) {
			const most = MOST_EXAMINED - found.length;
			if (most <= 0) break;
			for (const place of this.#hints.beyond(namespace, lane, offer, most)) found.push(place);
		}
		return found;
	}

	/** Somebody looks into a queue; to be called if it was empty. */
	looking(partition: number, queue: string): () => void {
		const stamp = this.#hints.stampOf(partition, queue);
		return () => {
			if (stamp !== undefined) this.#hints.cool(partition, queue, stamp);
		};
	}

	/** Looks anew at these partitions: notices may have been missed, or what kept their work back is gone. */
	lookAt(partitions: readonly number[]): Promise<void> {
		return this.#looks.refresh(partitions);
	}

	/** At the start, so that the first claims see all there is. */
	lookEverywhere(): Promise<void> {
		return this.lookAt([...this.#runners.keys()]);
	}

	/** A claim is made or woken. */
	turn(search: ClaimSearch): void {
		search.everywhere = this.#scan.turn(this.#options.clock.monotonic());
	}

	close(): void {
		this.#closed = true;
		this.#looks.close();
	}

	/**
	 * How many to take from which partition, the best first. Whoever gets them says when they are `taken`; until then other
	 * claims are sent elsewhere, if what they find there is as good.
	 */
	plan(search: ClaimSearch, lane: string, wanted: number, isFirst: boolean): Share[] | Promise<Share[]> {
		const { namespace, offer } = search.wanted;
		const partitions = this.#hints.partitions(namespace, lane, offer);
		const preferred = this.#options.preferred(laneName(namespace, lane));
		const query: LaneQuery = { search, lane, wanted, age: 0, far: false, probed: new Map(), looks: LOOKS };
		if (!preferred) return this.#planFrom(query, partitions);
		const own = partitions.filter((partition) => preferred.has(partition));
		const others = partitions.filter((partition) => !preferred.has(partition));
		if (others.length === 0) return this.#planFrom(query, own);
		if (search.everywhere) return this.#planOvertaken(query, own, others);
		const shares = this.#planFrom(query, own);
		// Who has got something leaves the rest to those who come first there.
		if (!isFirst) return shares;
		const age = search.hurried ? 0 : OTHERS_FIRST_MS;
		const orOthers = (found: Share[]): Share[] | Promise<Share[]> =>
			found.length > 0 ? found : this.#planFrom(again(query, { age, far: true, looks: LOOKS }), others);
		return shares instanceof Promise ? shares.then(orOthers) : orOthers(shares);
	}

	/** From all partitions alike if the best of the others' has waited much longer. */
	async #planOvertaken(query: LaneQuery, own: readonly number[], others: readonly number[]): Promise<Share[]> {
		const here = await this.#bestOf(query, own);
		const there = await this.#bestOf(again(query, { wanted: 1, far: true, looks: LOOKS, probed: new Map() }), others);
		if (here <= there + OVERTAKEN_MS) return this.#planFrom(query, own);
		return this.#planFrom(again(query, { far: true, looks: LOOKS }), [...own, ...others]);
	}

	/** These shares were taken, or could not be. */
	taken(shares: readonly Share[]): void {
		this.#picker.count(shares, -1);
	}

	/** At once if all heads that matter are known; else after the store was asked for them. */
	#planFrom(query: LaneQuery, partitions: readonly number[], triesLeft = MORE_TRIES): Share[] | Promise<Share[]> {
		const picked = this.#picker.pick(query, partitions);
		if (!(picked instanceof Picking))
			return this.#probeAll(query, picked).then(() => this.#planFrom(query, partitions, triesLeft));
		const shares = picked.shares();
		if (shares.length === 0 && triesLeft > 0 && !query.search.onlyKnown && this.#picker.hasMore(query, partitions)) {
			// What was looked into was empty. The next claim goes on behind what this one has seen.
			return this.#planFrom(again(query, { looks: LOOKS }), partitions, triesLeft - 1);
		}
		this.#picker.count(shares, 1);
		return shares;
	}

	/** Where the best stands that there is. */
	async #bestOf(query: LaneQuery, partitions: readonly number[]): Promise<number> {
		const picked = this.#picker.pick(query, partitions);
		if (picked instanceof Picking) return picked.best;
		await this.#probeAll(query, picked);
		return this.#bestOf(query, partitions);
	}

	async #probeAll(query: LaneQuery, unknown: readonly QueueAt[]): Promise<void> {
		const { probed } = query;
		query.looks -= unknown.length;
		await mapBounded(unknown, LOOKS_AT_ONCE, async ([partition, queue]) => {
			const entries = await this.#lookInto(query, partition, queue);
			const there = probed.get(partition);
			if (there) there.set(queue, entries);
			else probed.set(partition, new Map([[queue, entries]]));
		});
	}

	/**
	 * The best entries of a queue. Where others write too, only the store can say that a queue is empty: while our own
	 * commit that takes the last entry known here is on its way, another's may add one, and no notice tells of that.
	 */
	async #lookInto(query: LaneQuery, partition: number, queue: string): Promise<readonly Entry[]> {
		const { search, wanted, far } = query;
		const runner = this.#runners[partition] as PartitionRunner;
		const stamp = this.#hints.stampOf(partition, queue);
		try {
			const known = runner.heads.first(queue, wanted);
			const asked = far ? wanted : runner.heads.loadSize(wanted);
			let entries = known ?? (await runner.look(queue, wanted, asked, PARTITION_PATIENCE_MS));
			if (known?.length === 0 && this.#options.shared) {
				entries = (await runner.ask((store, at) => store.first(at, queue, wanted), PARTITION_PATIENCE_MS)).entries;
				if (entries.length > 0) runner.heads.forget(queue);
			}
			search.answered += 1;
			if (entries.length > 0) return entries;
			// It was said to have work while we looked: that is worth another look now, not after a pause.
			if (stamp !== undefined && stamp !== (this.#hints.stampOf(partition, queue) ?? stamp)) {
				return await this.#lookInto(query, partition, queue);
			}
			this.#hints.cool(partition, queue, stamp);
			return [];
		} catch (error) {
			this.#passOver(search, partition, [queue], error);
			return [];
		}
	}

	/**
	 * What was asked of a partition was not given, as the store is not there, or takes nothing: it is passed over. One that
	 * has answered since it was, and fails again, refuses to give; then so does the claim.
	 */
	notGiven(search: ClaimSearch, { partition, queues }: Share, error: unknown): void {
		this.#passOver(search, partition, queues, error);
		if (search.passedOver?.has(partition)) throw error;
		search.passedOver ??= new Set();
		search.passedOver.add(partition);
	}

	/** Throws if the store has not been heard since a claim began, and cannot be now. */
	async makeSure({ instanceId }: ClaimSearch, since: number): Promise<void> {
		if (await this.#probe.isThere(this.#scan.window(instanceId), since)) return;
		throw refusalError(refuse("store_unavailable"));
	}

	#passOver(search: ClaimSearch, partition: number, queues: readonly string[], error: unknown): void {
		search.failed += 1;
		search.skipped += 1;
		this.#looks.failed(partition, error);
		for (const queue of queues) this.#hints.cool(partition, queue);
	}

	/** Entries that gave nothing: either nobody may have them now, or others took them and the index will tell. */
	ledNowhere({ partition, queues }: Share, paused: boolean): void {
		for (const queue of queues) {
			if (paused) this.#hints.cool(partition, queue);
			else this.#runners[partition]?.heads.forget(queue);
		}
	}

	/**
	 * Asks the partitions of the claim's window that are not known here what they have; all of them if nobody has answered
	 * yet, or if what is known is not enough. Undefined when none has to be asked.
	 */
	lookAround(search: ClaimSearch, afresh: boolean): Promise<void> | undefined {
		const window = this.#scan.window(search.instanceId);
		if (afresh) {
			const { namespace, lanes } = search.wanted;
			// Others' queues are none of its business, and may be many.
			const prefix = namespaceOrLane(namespace, lanes);
			return this.#ask(window, (partition) => this.#looks.lookAfresh(partition, prefix), window.length, search);
		}
		const cutOff = search.failed > 0 && search.answered === 0;
		const asked = cutOff ? window : window.filter((partition) => !this.#looks.isKnown(partition));
		if (asked.length === 0) return undefined;
		return this.#ask(asked, (partition) => this.#looks.look(partition), window.length, search);
	}

	async #ask(
		partitions: readonly number[],
		look: (partition: number) => Promise<boolean>,
		inWindow: number,
		search: ClaimSearch,
	): Promise<void> {
		const looks = await Promise.all(partitions.map(look));
		const failed = looks.filter((answered) => !answered).length;
		search.answered += looks.length - failed;
		search.skipped += failed;
		if (failed === inWindow) throw this.#looks.lastFailure ?? refusalError(refuse("store_unavailable"));
	}

	#hearLater(partition: number, queue: string): void {
		const key = `${partition} ${queue}`;
		if (this.#later.has(key)) return;
		this.#later.add(key);
		this.#options.clock.setTimer(OTHERS_FIRST_MS, () => {
			this.#later.delete(key);
			if (!this.#closed) this.hasWork(partition, queue);
		});
	}
}

/** The same query with other bounds; what the store has said already still counts. */
const again = (query: LaneQuery, changes: Partial<LaneQuery>): LaneQuery => ({ ...query, ...changes });

/** How the names of the queues begin that claims for these lanes look at. */
const namespaceOrLane = (namespace: string, [lane, ...others]: readonly string[]): string =>
	lane === undefined || others.length > 0 ? eligibleQueuesOf(namespace) : eligibleQueuePrefix(namespace, lane);
