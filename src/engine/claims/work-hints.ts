import type { Offer } from "../../kernel/matching.ts";
import { ELIGIBLE, eligibleQueuePrefix } from "../../kernel/placement.ts";
import type { QueueHeads } from "../partition/queue-heads.ts";
import { HeadOrder, UNKNOWN } from "./head-order.ts";
import { classOf, lacksFor, servesQueue } from "./offers.ts";

/** What a claim is for, as far as the names of queues tell. */
export interface Wanted {
	namespace: string;
	lanes: readonly string[];
	/** The one object for all claims alike; see `sameOffer`. */
	offer: Offer;
}

/** A lane in one partition as whoever makes this offer sees it. */
interface View {
	/** Hot queues it can serve; one whose head is not known comes before all others. */
	order: HeadOrder;
	/** Hot queues with work that requires more than it offers. */
	beyond: Set<string>;
}

interface HotLane {
	queues: Set<string>;
	views: Map<Offer, View>;
	/** The last queue that was shown as one to look into: the next are those behind it. */
	shown: string;
}

const MOST_VIEWS = 64;
/** Beyond so many heads that have moved, views are made anew when they are asked for rather than brought up to date. */
const MOST_MOVED = 256;

/**
 * Where there is work: a queue is *hot* once a commit, a notice or a look said that it is not empty, until a look finds
 * it empty. Whoever looks takes the queue's `stamp` first: if it was said to have work meanwhile, what the look found is
 * older than that, and the queue stays hot.
 *
 * A lane may have thousands of queues, one per kind and set of capabilities. Claims do not go through them: for each offer
 * the queues it can serve are kept in the order of their heads, and only where a head has moved is anything done.
 */
export class WorkHints {
	/** Lane prefix → partition → what is hot. */
	readonly #hot = new Map<string, Map<number, HotLane>>();
	/** The same queues per partition with their stamps, to tell quickly whether one is hot. */
	readonly #stamps: readonly Map<string, number>[];
	readonly #heads: readonly QueueHeads[];
	readonly #exact: boolean;
	#stamp = 0;
	/** Hot queues with work that requires something. */
	demanding = 0;

	/** `exact` when nobody else writes: then a queue known to be empty is. */
	constructor(heads: readonly QueueHeads[], exact: boolean) {
		this.#heads = heads;
		this.#exact = exact;
		this.#stamps = heads.map(() => new Map());
	}

	isHot(partition: number, queue: string): boolean {
		return this.#stamps[partition]?.has(queue) === true;
	}

	/** Whether fewer queues than so many are hot in the lane of this one. */
	hasRoomBeside(partition: number, queue: string, most: number): boolean {
		const partitions = this.#hot.get(classOf(queue).prefix);
		if ((partitions?.get(partition)?.queues.size ?? 0) < most) return true;
		// Some may be known to be empty by now.
		this.#follow(partition);
		return (partitions?.get(partition)?.queues.size ?? 0) < most;
	}

	stampOf(partition: number, queue: string): number | undefined {
		return this.#stamps[partition]?.get(queue);
	}

	heat(partition: number, queue: string): void {
		const stamps = this.#stamps[partition];
		if (!stamps) return;
		const known = stamps.has(queue);
		stamps.set(queue, ++this.#stamp);
		if (known) return;
		const { prefix, requiredCapabilities } = classOf(queue);
		if (requiredCapabilities.length > 0) this.demanding += 1;
		let partitions = this.#hot.get(prefix);
		if (!partitions) this.#hot.set(prefix, (partitions = new Map()));
		let lane = partitions.get(partition);
		if (!lane) partitions.set(partition, (lane = { queues: new Set(), views: new Map(), shown: "" }));
		lane.queues.add(queue);
		for (const [offer, { order, beyond }] of lane.views) {
			if (servesQueue(offer, queue)) order.set(queue, this.#headOf(partition, queue));
			else if (lacksFor(offer, queue)) beyond.add(queue);
		}
	}

	/** Nothing was found in it by a look that began at this stamp. */
	cool(partition: number, queue: string, stamp = this.stampOf(partition, queue)): void {
		const stamps = this.#stamps[partition];
		if (!stamps?.has(queue) || stamps.get(queue) !== stamp) return;
		stamps?.delete(queue);
		const { prefix, requiredCapabilities } = classOf(queue);
		if (requiredCapabilities.length > 0) this.demanding -= 1;
		const partitions = this.#hot.get(prefix);
		const lane = partitions?.get(partition);
		if (!lane) return;
		lane.queues.delete(queue);
		for (const { order, beyond } of lane.views.values()) {
			order.delete(queue);
			beyond.delete(queue);
		}
		if (lane.queues.size === 0) partitions?.delete(partition);
		if (partitions?.size === 0) this.#hot.delete(prefix);
	}

	/** Partitions where a lane has hot queues that this offer can serve. */
	partitions(namespace: string, lane: string, offer: Offer): number[] {
		const found: number[] = [];
		for (const [partition, hot] of this.#hot.get(eligibleQueuePrefix(namespace, lane)) ?? []) {
			this.#follow(partition);
			if (this.#view(hot, partition, offer).order.size > 0) found.push(partition);
		}
		return found;
	}

	/** Hot queues of a lane in one partition that this offer can serve, best first; it changes with what is found. */
	order(namespace: string, lane: string, partition: number, offer: Offer): HeadOrder | undefined {
		this.#follow(partition);
		const hot = this.#lane(namespace, lane, partition);
		return hot && this.#view(hot, partition, offer).order;
	}

	/** Some of those whose head is not known; others every time, until all have been shown. */
	unknown(namespace: string, lane: string, partition: number, offer: Offer, most: number): string[] {
		const hot = this.#lane(namespace, lane, partition);
		if (!hot || most <= 0) return [];
		const found = this.#view(hot, partition, offer).order.unknownBehind(hot.shown, most);
		hot.shown = found.at(-1) ?? hot.shown;
		return found;
	}

	/** Some hot queues of a lane with work that requires more than this offer; others every time. */
	beyond(namespace: string, lane: string, offer: Offer, most: number): [partition: number, queue: string][] {
		const found: [number, string][] = [];
		for (const [partition, hot] of this.#hot.get(eligibleQueuePrefix(namespace, lane)) ?? []) {
			const { beyond } = this.#view(hot, partition, offer);
			let left = Math.min(beyond.size, most - found.length);
			for (const queue of beyond) {
				if (left-- <= 0) break;
				found.push([partition, queue]);
				// To the end of the line.
				beyond.delete(queue);
				beyond.add(queue);
			}
		}
		return found;
	}

	/** Whether there is work for a claim, as far as is known. */
	has({ namespace, lanes, offer }: Wanted): boolean {
		return lanes.some((lane) => this.partitions(namespace, lane, offer).length > 0);
	}

	#lane(namespace: string, lane: string, partition: number): HotLane | undefined {
		return this.#hot.get(eligibleQueuePrefix(namespace, lane))?.get(partition);
	}

	#view(lane: HotLane, partition: number, offer: Offer): View {
		const known = lane.views.get(offer);
		if (known) return known;
		if (lane.views.size >= MOST_VIEWS) lane.views.clear();
		const served: { queue: string; score: number }[] = [];
		const beyond = new Set<string>();
		for (const queue of lane.queues) {
			if (servesQueue(offer, queue)) served.push({ queue, score: this.#headOf(partition, queue) });
			else if (lacksFor(offer, queue)) beyond.add(queue);
		}
		const view: View = { order: new HeadOrder(served), beyond };
		lane.views.set(offer, view);
		return view;
	}

	#headOf(partition: number, queue: string): number {
		return this.#heads[partition]?.peek(queue)?.score ?? UNKNOWN;
	}

	/** Brings every view of a partition up to date with the heads that have moved. */
	#follow(partition: number): void {
		const moved = this.#heads[partition]?.moved;
		if (!moved || moved.size === 0) return;
		for (const queue of moved) {
			if (!this.isHot(partition, queue)) continue;
			if (this.#exact && this.#heads[partition]?.peek(queue) === null) {
				this.cool(partition, queue);
				continue;
			}
			const views = this.#hot.get(classOf(queue).prefix)?.get(partition)?.views;
			if (moved.size > MOST_MOVED) views?.clear();
			for (const { order } of views?.values() ?? []) {
				if (order.has(queue)) order.set(queue, this.#headOf(partition, queue));
			}
		}
		moved.clear();
	}
}

/** A lane's name across namespaces. */
export const laneName = (namespace: string, lane: string): string => `${namespace},${lane}`;

export const laneNameOf = (queue: string): string => classOf(queue).prefix.slice(ELIGIBLE.length, -1);
