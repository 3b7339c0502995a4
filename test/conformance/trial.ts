import {
	type CommitReply,
	type EventEntry,
	type ForgottenOwner,
	type IndexEntry,
	type Notice,
	type Store,
	type StoredRecord,
	type Unit,
	unitOf,
} from "../../src/store/port.ts";
import { blobKeysOf, recordsOf } from "./scanned.ts";
import { type OpenStore, type StoreRow, TestClock } from "./stores.ts";

/** Registers a case; every case gets a new, empty store. */
export type Case = (name: string, run: (trial: Trial) => Promise<void>) => void;

export const unit = unitOf;

/** Writes one record that was read at `version`. */
export const put = (key: string, doc: string, version = 0): Unit =>
	unit({ expected: [[key, version]], put: [{ key, doc }] });

export const remove = (key: string, version: number): Unit => unit({ expected: [[key, version]], removed: [key] });

export const check = (...expected: [key: string, version: number][]): Unit => unit({ expected });

export const entry = (queue: string, score: number, key: string): IndexEntry => ({ queue, score, key });

/** The log of cases that say nothing of logs. */
export const LOG = "tenant";

export const event = (owner: string, body: string, at = 1, more: Partial<EventEntry> = {}): EventEntry => ({
	log: LOG,
	owner,
	at,
	body,
	...more,
});

export const gone = (...owners: string[]): ForgottenOwner[] => owners.map((owner) => ({ log: LOG, owner }));

export interface Sending {
	partition?: number;
	engine?: string;
	/** The next one of the engine in the partition when left out. */
	number?: number;
	/** The time on the clock when left out. */
	at?: number;
	vouched?: boolean;
}

const NOTICE_PATIENCE_MS = 30_000;

/** One case at work on one store: sends batches as an engine would, and remembers the notices that came. */
export class Trial {
	readonly clock: TestClock;
	readonly partitions: number;
	/** Where a case works unless it says otherwise; not the first one, where the store has several. */
	readonly home: number;
	notices: Notice[] = [];
	readonly #opened: OpenStore;
	readonly #numbers = new Map<string, number>();
	#store: Store;
	#markers = 0;

	private constructor(row: StoreRow, clock: TestClock, opened: OpenStore) {
		this.clock = clock;
		this.partitions = row.partitions;
		this.home = row.partitions - 1;
		this.#opened = opened;
		this.#store = opened.store;
		this.#listen();
	}

	static async open(row: StoreRow): Promise<Trial> {
		const clock = new TestClock();
		return new Trial(row, clock, await row.open(clock));
	}

	get store(): Store {
		return this.#store;
	}

	commit(units: Unit[], sending: Sending = {}): Promise<CommitReply> {
		const { partition = this.home, engine = "engine-a", at = this.clock.now, vouched = false } = sending;
		const counter = `${partition} ${engine}`;
		const number = sending.number ?? (this.#numbers.get(counter) ?? 0) + 1;
		this.#numbers.set(counter, Math.max(number, this.#numbers.get(counter) ?? 0));
		return this.#store.commit(partition, { engine, number, at, units, vouched });
	}

	/** Commits units that must all be applied; returns the commit's number. */
	async apply(units: Unit[], sending: Sending = {}): Promise<number> {
		const { commit, results } = await this.commit(units, sending);
		if (results.length !== units.length || !results.every(({ ok }) => ok)) {
			throw new Error(`not applied: ${JSON.stringify(results)}`);
		}
		return commit;
	}

	async record(key: string, partition = this.home) {
		const [found] = (await this.#store.read(partition, [key])).records;
		if (!found) throw new Error("read gave no answer for a key");
		return found;
	}

	/** All records of a partition, in the order of their keys. */
	async records(partition = this.home): Promise<StoredRecord[]> {
		return recordsOf(this.#store, partition);
	}

	/** Keys of all blobs of a partition, in order. */
	async blobKeys(partition = this.home): Promise<string[]> {
		return blobKeysOf(this.#store, partition);
	}

	async blob(key: string, partition = this.home): Promise<number[] | undefined> {
		const [found] = (await this.#store.readBlobs(partition, [key])).blobs;
		return found && [...found];
	}

	/** Keys of a queue, in its order. */
	async keys(queue: string, count = 1000, partition = this.home): Promise<string[]> {
		return (await this.#store.first(partition, queue, count)).entries.map(({ key }) => key);
	}

	async queues(prefix = "", partition = this.home): Promise<string[]> {
		return (await this.#store.queues(partition, prefix)).queues;
	}

	/** Bodies of events: of an owner, or of the whole log. */
	async bodies(owner?: string, partition = this.home): Promise<string[]> {
		return (await this.#store.events(partition, LOG, owner, undefined, 1000)).events.map(({ body }) => body);
	}

	/**
	 * What was told until now, each thing once: notices may be repeated. They may also take their time, but come in
	 * order: once a new one has come, those before it have too, so that a case can also tell what was not said.
	 */
	async heard(partition = this.home): Promise<Omit<Notice, "partition">> {
		const marker = `marker-${++this.#markers}`;
		const told = unit({ put: [{ key: marker, doc: "" }], indexAdded: [entry(marker, 0, marker)] });
		await this.apply([told], { partition, engine: "marker" });
		const before = performance.now();
		while (!this.notices.some(({ queues }) => queues.includes(marker))) {
			if (performance.now() - before > NOTICE_PATIENCE_MS) throw new Error("a notice did not come");
			await new Promise((resolve) => setTimeout(resolve, 2));
		}
		const heard = this.notices.filter((notice) => notice.partition === partition);
		this.notices = this.notices.filter((notice) => notice.partition !== partition);
		const dues = heard.map(({ due }) => due).filter((due) => due !== undefined);
		const queues = new Set(heard.flatMap((notice) => notice.queues).filter((queue) => !queue.startsWith("marker-")));
		return {
			queues: [...queues],
			changed: [...new Set(heard.flatMap(({ changed }) => changed))],
			...(dues.length > 0 ? { due: Math.min(...dues) } : undefined),
		};
	}

	async reopen(): Promise<void> {
		const before = this.#store;
		this.#store = await this.#opened.reopen();
		if (this.#store !== before) this.#listen();
	}

	async discard(): Promise<void> {
		await this.#opened.discard();
	}

	#listen(): void {
		this.#store.onNotice((notice) => this.notices.push(notice));
	}
}
