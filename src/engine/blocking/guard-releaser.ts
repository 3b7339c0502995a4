import { Room } from "../../kernel/admission/room.ts";
import { trustedSlot } from "../../kernel/ids.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { blockedQueueSubject, waitersQueue } from "../../kernel/placement.ts";
import { budgetKey } from "../../kernel/records/budget.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { type GuardKind, type GuardName, type GuardRecord, slotOfGuard } from "../../kernel/records/guard.ts";
import { quotaKey } from "../../kernel/records/quota.ts";
import { isWithin, type ScannerFilter } from "../../kernel/scanner-filter.ts";
import type { Entry } from "../../kernel/tx.ts";
import { mapBounded } from "../bounded.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { PARTITION_PATIENCE_MS } from "../partition/store-line.ts";
import type { Place } from "./blocked-mover.ts";
import { ReleaseTurns } from "./release-turns.ts";

export interface GuardReleaserOptions {
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	onFailure(error: unknown): void;
}

const PAGE = 100;
/** Partitions asked at the same time. */
const IN_FLIGHT = 16;

/**
 * Releases what waits for budgets and quotas: in the order it waits in, over all partitions, page after page, and no more
 * than there is room for. What does not fit is passed over, so that it hides nothing behind it. It reserves nothing:
 * whoever claims next is admitted or not.
 */
export class GuardReleaser {
	readonly #options: GuardReleaserOptions;
	readonly #turns = new ReleaseTurns();
	/** Reads of budgets and quotas, for tests. */
	reads = 0;

	constructor(options: GuardReleaserOptions) {
		this.#options = options;
	}

	/** A budget or quota asks for what waits for it to be looked at. */
	async release(guard: GuardName, releaseAt: number): Promise<number> {
		const { moved, isEmpty, isFull } = await this.#releaseAll(guard);
		const command = {
			op: "looked",
			guard,
			isEmpty,
			releaseAt,
			...(isFull ? { stoppedAfter: moved } : undefined),
		} as const;
		const outcome = await this.#home(guard).run(command, PARTITION_PATIENCE_MS);
		if (!outcome.ok) throw new Error(outcome.code);
		return moved;
	}

	/** These were just set aside: there may have come room before they were. */
	async recheck(guard: GuardName, records: readonly ExecutionRecord[]): Promise<void> {
		try {
			const room = await this.#look(guard, new Room(guard.kind));
			const fitting = room.isOpen ? records.filter((record) => room.take(record)) : [];
			if (fitting.length > 0)
				await this.#unblock(
					guard,
					fitting.map(({ id }) => id),
				);
		} catch (error) {
			// The budget or quota itself looks again in a few seconds.
			this.#options.onFailure(error);
		}
	}

	/** Whatever was found to wait, and whether there is room for it after all. Each budget and quota is gone through once. */
	async releaseFound(kind: GuardKind, found: readonly Place[], filter: ScannerFilter | undefined): Promise<number> {
		let moved = 0;
		for (const queue of new Set(found.map(([, each]) => each))) {
			const { namespace, object: id } = blockedQueueSubject(queue);
			moved += (await this.#releaseAll({ kind, namespace, id }, filter)).moved;
		}
		return moved;
	}

	async #releaseAll(guard: GuardName, filter?: ScannerFilter): Promise<Released> {
		const waiters = new Waiters(this.#options.runners, waitersQueue(guard.kind, guard.namespace, guard.id));
		const room = new Room(guard.kind);
		let moved = 0;
		for (let isFirst = true; ; isFirst = false) {
			await this.#look(guard, room);
			if (!room.isOpen) return { moved, isEmpty: false, isFull: true };
			const page = await waiters.next(PAGE);
			if (page.length === 0) return { moved, isEmpty: isFirst, isFull: false };
			const records = await this.#read(page);
			const ours = filter ? records.filter((record) => isWithin(filter, record.id, record)) : records;
			const fitting = this.#turns.order(guard, ours, room.now).filter((record) => room.take(record));
			for (const record of fitting) this.#turns.released(guard, record, room.now);
			if (fitting.length > 0)
				moved += await this.#unblock(
					guard,
					fitting.map(({ id }) => id),
				);
		}
	}

	async #look(guard: GuardName, room: Room): Promise<Room> {
		const { kind, namespace, id } = guard;
		const key: string = kind === "budget" ? budgetKey(namespace, id) : quotaKey(namespace, id);
		this.reads += 1;
		const { records, time } = await this.#home(guard).ask((store, at) => store.read(at, [key]), PARTITION_PATIENCE_MS);
		const [stored] = records;
		const record = stored && stored.version > 0 ? this.#options.kernel.decode(key, stored.doc) : undefined;
		room.see(record as GuardRecord | undefined, time);
		return room;
	}

	/** Those of a page that can be read, in the same order. */
	async #read(page: readonly Entry[]): Promise<ExecutionRecord[]> {
		const { runners, kernel } = this.#options;
		const found = new Map<string, ExecutionRecord>();
		await mapBounded([...this.#byPartition(page.map(({ key }) => key))], IN_FLIGHT, async ([partition, keys]) => {
			const runner = runners[partition] as PartitionRunner;
			const { records } = await runner.ask((store, at) => store.read(at, keys), PARTITION_PATIENCE_MS);
			for (const { key, version, doc } of records) {
				const record = version > 0 ? readable(kernel, key, doc) : undefined;
				if (record) found.set(key, record);
			}
		});
		return page.flatMap(({ key }) => found.get(key) ?? []);
	}

	async #unblock({ kind, namespace, id }: GuardName, keys: readonly string[]): Promise<number> {
		const queue = waitersQueue(kind, namespace, id);
		const moved = await mapBounded([...this.#byPartition(keys)], IN_FLIGHT, async ([partition, some]) => {
			const runner = this.#options.runners[partition] as PartitionRunner;
			const command = { op: "unblock", cause: kind, queue, keys: some, actor: "unblock" } as const;
			const outcome = await runner.run(command, PARTITION_PATIENCE_MS);
			if (!outcome.ok) throw new Error(outcome.code);
			return outcome.moved;
		});
		return moved.reduce((sum, count) => sum + count, 0);
	}

	#byPartition(keys: readonly string[]): Map<number, string[]> {
		const { length } = this.#options.runners;
		const groups = new Map<number, string[]>();
		for (const key of keys) {
			const partition = trustedSlot(key) % length;
			const group = groups.get(partition);
			if (group) group.push(key);
			else groups.set(partition, [key]);
		}
		return groups;
	}

	#home(guard: GuardName): PartitionRunner {
		const { runners } = this.#options;
		return runners[slotOfGuard(guard) % runners.length] as PartitionRunner;
	}
}

/** How many were released; whether nothing waited at all, or there was no room for more. */
interface Released {
	moved: number;
	isEmpty: boolean;
	isFull: boolean;
}

/** What cannot be read is left alone: the index reconciler tells of it. */
function readable(kernel: Kernel, key: string, doc: string): ExecutionRecord | undefined {
	try {
		return kernel.decode(key, doc) as ExecutionRecord;
	} catch {
		return undefined;
	}
}

/** Entries of a queue that stands in every partition, best first. */
class Waiters {
	readonly #runners: readonly PartitionRunner[];
	readonly #queue: string;
	/** What was read of each partition and not given yet; undefined before the first look, null when there is no more. */
	readonly #lines: { entries: Entry[]; last: Entry | undefined; isOver: boolean }[];

	constructor(runners: readonly PartitionRunner[], queue: string) {
		this.#runners = runners;
		this.#queue = queue;
		this.#lines = runners.map(() => ({ entries: [], last: undefined, isOver: false }));
	}

	async next(count: number): Promise<Entry[]> {
		const page: Entry[] = [];
		while (page.length < count) {
			await this.#fill(count);
			let best: { entries: Entry[] } | undefined;
			for (const line of this.#lines) {
				const [head] = line.entries;
				if (head && (!best?.entries[0] || head.score < best.entries[0].score)) best = line;
			}
			const entry = best?.entries.shift();
			if (!entry) break;
			page.push(entry);
		}
		return page;
	}

	/** The best can only be told while something is known of every partition that has something. */
	async #fill(count: number): Promise<void> {
		const empty = this.#lines.flatMap((line, partition) =>
			line.entries.length === 0 && !line.isOver ? [{ line, partition }] : [],
		);
		if (empty.length === 0) return;
		await mapBounded(empty, IN_FLIGHT, async ({ line, partition }) => {
			const runner = this.#runners[partition] as PartitionRunner;
			const { last } = line;
			const { entries } = await runner.ask(
				(store, at) => store.first(at, this.#queue, count, last),
				PARTITION_PATIENCE_MS,
			);
			line.entries = [...entries];
			line.last = entries.at(-1) ?? last;
			line.isOver = entries.length < count;
		});
	}
}
