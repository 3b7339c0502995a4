import type { Clock } from "../contract/clock.ts";
import { refusalError } from "../contract/errors.ts";
import { timeOfId } from "../kernel/ids.ts";
import { refuse } from "../kernel/outcome.ts";
import { isTicketKey } from "../kernel/records/ticket.ts";
import type { Entry } from "../kernel/tx.ts";
import { PartitionLooks } from "./partition-looks.ts";
import type { PartitionRunner } from "./partition-runner.ts";
import { PartitionScan } from "./partition-scan.ts";
import { laneName, laneNameOf, type Wanted, WorkHints } from "./work-hints.ts";

/** One claim's search for work, and how many partitions could be asked. */
export interface Search {
	readonly wanted: Wanted;
	readonly instanceId: string;
	answered: number;
	failed: number;
	/** How often entries that led nowhere may still be passed. */
	passes: number;
	/** Whether it takes the best wherever it lies, rather than what is near first. */
	everywhere: boolean;
	/** Whether it is content with what is known here, without asking the store. */
	onlyKnown: boolean;
}

interface Candidate extends Entry {
	partition: number;
	queue: string;
}

/** Work for one lane in one partition. */
export interface Share {
	partition: number;
	queues: string[];
	count: number;
}

export interface WorkFinderOptions {
	runners: readonly PartitionRunner[];
	clock: Clock;
	/** Whether other engines may take work too: what is known here of a queue may then be old. */
	shared: boolean;
	/** Where this engine comes first for a lane; undefined when it does everywhere. */
	preferred(lane: string): ReadonlySet<number> | undefined;
	/** A queue has work; true when somebody waited for that. */
	onWork(queue: string): boolean;
	/** A partition could not be read and was passed over. */
	onSkipped(partition: number, error: unknown): void;
}

/**
 * Where others come first, new work is theirs for this long. Helping them sooner costs more than it gains: two engines,
 * one keeping up with its work, re-read what the other had in memory (measured: 0.6 × the throughput at 5 ms).
 */
const OTHERS_FIRST_MS = 20;

/**
 * Finds work for claims.
 *
 * - Hints say which queues have work. A claim is shown those: the best among the partitions it may probe.
 * - If there is nothing it asks the partitions of its window that are not known here which queues are not empty. What is
 *   known stays so by notices, so nothing that was there is slept through.
 * - Where several engines have workers for a lane, each comes first in some partitions. It takes from the others' only
 *   when there is nothing in its own, and only what they have left for a moment. Once per rotation a claim looks at all
 *   of them alike, so that work is not overtaken for ever where it waits for workers that are busy.
 */
export class WorkFinder {
	readonly #options: WorkFinderOptions;
	readonly #runners: readonly PartitionRunner[];
	readonly #hints: WorkHints;
	readonly #scan: PartitionScan;
	readonly #looks: PartitionLooks;
	/** Queues where others come first, that will be hot here in a moment. */
	readonly #later = new Set<string>();
	#closed = false;

	constructor(options: WorkFinderOptions) {
		const { runners, clock, onSkipped } = options;
		this.#options = options;
		this.#runners = runners;
		this.#hints = new WorkHints(runners.map(({ heads }) => heads));
		this.#scan = new PartitionScan(runners.length);
		const onFound = (partition: number, queue: string) => void this.hasWork(partition, queue);
		this.#looks = new PartitionLooks({ runners, clock, onFound, onFailed: onSkipped });
	}

	/** A queue has work, or may have; true when somebody waited for that. */
	hasWork(partition: number, queue: string): boolean {
		this.#hints.heat(partition, queue);
		return this.#options.onWork(queue);
	}

	/** Work that was told of while it was on its way is now stored; whoever looked for it too early found nothing. */
	hasStored(partition: number, queue: string): void {
		if (this.#hints.isHot(partition, queue)) this.#hints.heat(partition, queue);
		else this.hasWork(partition, queue);
	}

	/** A notice said that a queue has work. Where others come first it counts a moment later. */
	hasHeard(partition: number, queue: string): void {
		if (this.#options.preferred(laneNameOf(queue))?.has(partition) === false) this.#hearLater(partition, queue);
		else this.hasWork(partition, queue);
	}

	/** Whether there is work for a claim, as far as is known. */
	hasFor(wanted: Wanted): boolean {
		return this.#hints.has(wanted);
	}

	/** Queues of a claim's lanes with work that requires more than it offers. */
	beyond({ namespace, lanes, offer }: Wanted): [partition: number, queue: string][] {
		if (this.#hints.demanding === 0) return [];
		return lanes.flatMap((lane) => this.#hints.beyond(namespace, lane, offer));
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
	turn(search: Search): void {
		search.everywhere = this.#scan.turn(this.#options.clock.monotonic());
	}

	close(): void {
		this.#closed = true;
		this.#looks.close();
	}

	/** How many to take from which partition, the best first. */
	async plan(search: Search, lane: string, wanted: number, isFirst: boolean): Promise<Share[]> {
		const { namespace, offer } = search.wanted;
		const partitions = this.#hints.partitions(namespace, lane, offer);
		const preferred = this.#options.preferred(laneName(namespace, lane));
		if (!preferred || search.everywhere) return this.#planFrom(search, lane, wanted, partitions);
		const own = partitions.filter((partition) => preferred.has(partition));
		const shares = await this.#planFrom(search, lane, wanted, own);
		// Who has got something leaves the rest to those who come first there.
		if (shares.length > 0 || !isFirst || own.length === partitions.length) return shares;
		const others = partitions.filter((partition) => !preferred.has(partition));
		return this.#planFrom(search, lane, wanted, others, OTHERS_FIRST_MS);
	}

	/** What may be taken from these partitions, of an age in milliseconds at least. */
	async #planFrom(
		search: Search,
		lane: string,
		wanted: number,
		partitions: readonly number[],
		age = 0,
	): Promise<Share[]> {
		const candidates: Candidate[] = [];
		await Promise.all(
			this.#scan.nearest(search.instanceId, partitions).map(async (partition) => {
				for (const candidate of await this.#bestIn(search, lane, partition, wanted, age)) candidates.push(candidate);
			}),
		);
		candidates.sort(compare);
		return sharesOf(candidates.slice(0, wanted), wanted);
	}

	/** The best entries of a lane in one partition, looked for in as few queues as will do. */
	async #bestIn(search: Search, lane: string, partition: number, wanted: number, age: number): Promise<Candidate[]> {
		const { namespace, offer } = search.wanted;
		const { heads } = this.#runners[partition] as PartitionRunner;
		const found: Candidate[] = [];
		const take = (queue: string, entries: readonly Entry[]) => {
			if (age > 0 && this.#isYounger(age, partition, queue, entries[0])) return;
			for (const entry of entries) if (!insert(found, entry, partition, queue, wanted)) break;
		};
		const seen = new Set<string>();
		const probe = async (queue: string) => {
			seen.add(queue);
			take(queue, await this.#probe(search, partition, queue, wanted));
		};
		let order = this.#hints.order(namespace, lane, partition, offer);
		const unknown = order?.unknown ?? [];
		if (unknown.length > 0 && !search.onlyKnown) {
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
			} else if (search.onlyKnown) seen.add(place.queue);
			else await probe(place.queue);
			// What was found empty, or too young, is no longer in the order; and meanwhile any head may have moved.
			if (order?.at(n)?.queue !== place.queue) {
				order = this.#hints.order(namespace, lane, partition, offer);
				n = -1;
			}
		}
	}

	/**
	 * The best entries of a queue. Where others write too, only the store can say that a queue is empty: while our own
	 * commit that takes the last entry known here is on its way, another's may add one, and no notice tells of that.
	 */
	async #probe(search: Search, partition: number, queue: string, wanted: number): Promise<readonly Entry[]> {
		const runner = this.#runners[partition] as PartitionRunner;
		const stamp = this.#hints.stampOf(partition, queue);
		try {
			const known = runner.heads.first(queue, wanted);
			let entries = known ?? (await runner.look(queue, wanted));
			if (known?.length === 0 && this.#options.shared) {
				entries = (await runner.ask((store, at) => store.first(at, queue, wanted))).entries;
				if (entries.length > 0) runner.heads.forget(queue);
			}
			search.answered += 1;
			if (entries.length > 0) return entries;
			// It was said to have work while we looked: that is worth another look now, not after a pause.
			if (stamp !== undefined && stamp !== (this.#hints.stampOf(partition, queue) ?? stamp)) {
				return await this.#probe(search, partition, queue, wanted);
			}
			this.#hints.cool(partition, queue, stamp);
			return [];
		} catch (error) {
			search.failed += 1;
			this.#looks.failed(partition, error);
			this.#hints.cool(partition, queue);
			return [];
		}
	}

	/** Entries that gave nothing: either nobody may have them now, or others took them and the index will tell. */
	ledNowhere({ partition, queues }: Share, paused: boolean): void {
		for (const queue of queues) {
			if (paused) this.#hints.cool(partition, queue);
			else this.#runners[partition]?.heads.forget(queue);
		}
	}

	/**
	 * Asks the partitions of the claim's window that are not known here what they have, and all of them if nobody has
	 * answered yet; undefined when none has to be asked.
	 */
	lookAround(search: Search): Promise<void> | undefined {
		const window = this.#scan.window(search.instanceId);
		const cutOff = search.failed > 0 && search.answered === 0;
		const asked = cutOff ? window : window.filter((partition) => !this.#looks.isKnown(partition));
		return asked.length > 0 ? this.#lookInto(asked, window.length, search) : undefined;
	}

	async #lookInto(partitions: readonly number[], inWindow: number, search: Search): Promise<void> {
		const looks = await Promise.all(partitions.map((partition) => this.#looks.look(partition)));
		const failed = looks.filter((answered) => !answered).length;
		search.answered += looks.length - failed;
		if (failed === inWindow) throw refusalError(refuse("store_unavailable"));
	}

	/** Whether the best of another engine's work is so new that it may be about to be taken; then it counts later. */
	#isYounger(age: number, partition: number, queue: string, head: Entry | undefined): boolean {
		const now = this.#runners[partition]?.time.now() ?? 0;
		// How long work behind a ticket has waited its head does not tell.
		if (!head || isTicketKey(head.key) || now - timeOfId(head.key) >= age) return false;
		this.#hints.cool(partition, queue);
		this.#hearLater(partition, queue);
		return true;
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

const compare = (a: Entry, b: Entry): number => a.score - b.score || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

/** A ticket stands for more than itself: what is left to take is spread over the partitions that have one. */
function sharesOf(candidates: readonly Candidate[], wanted: number): Share[] {
	const shares = new Map<number, Share>();
	const deep = new Set<Share>();
	for (const { partition, queue, key } of candidates) {
		let share = shares.get(partition);
		if (!share) shares.set(partition, (share = { partition, queues: [], count: 0 }));
		share.count += 1;
		if (isTicketKey(key)) deep.add(share);
		if (!share.queues.includes(queue)) share.queues.push(queue);
	}
	const left = wanted - candidates.length;
	[...deep].forEach((share, n) => {
		share.count += Math.floor((left + n) / deep.size);
	});
	return [...shares.values()];
}

/** Keeps the best `wanted` in order; false when this one, and so all behind it in its queue, are not among them. */
function insert(found: Candidate[], entry: Entry, partition: number, queue: string, wanted: number): boolean {
	let place = found.length;
	while (place > 0 && compare(entry, found[place - 1] as Candidate) < 0) place -= 1;
	if (place >= wanted) return false;
	const candidate = { key: entry.key, score: entry.score, partition, queue };
	if (place === found.length) found.push(candidate);
	else found.splice(place, 0, candidate);
	if (found.length > wanted) found.length = wanted;
	return true;
}
