import {
	type Batch,
	type EventEntry,
	hasWrites,
	type IndexEntry,
	type LoggedEvent,
	type QueuePosition,
	type Store,
	type Unit,
	unitOf,
} from "../../src/store/port.ts";
import { blobKeysOf, recordsOf } from "../conformance/scanned.ts";
import type { TestClock } from "../conformance/stores.ts";
import { Random } from "../simulation/random.ts";

const ENGINES = ["engine-a", "engine-b", "engine c: 'ü'"];
/** Few, so that units meet; strange ones among them. Their order is the same by bytes and by UTF-16. */
const KEYS = ["a", "b", "c", "d", "e", "ab", "a\u0001", "ex 1", "é", "日本", "{x}"];
const QUEUES = ["due", "q", "list,x", "list,y", "list", "é"];
const PREFIXES = ["", "l", "list", "list,", "é", "nothing"];
const SCORES = [-2.5, -1, 0, 1, 1.25, 7, 1_700_000_000_000, 9_007_199_254_740_991];

/** Something asked of a store, in words and as a call. */
export interface Move {
	told: string;
	ask(store: Store): Promise<unknown>;
}

/**
 * Seeded traffic of several engines on one store: batches that win and lose, repeated, late, or at times that do not
 * fit, and every read there is. A store that answers as it should decides which versions are the right ones.
 */
export class Traffic {
	readonly #random: Random;
	readonly #model: Store;
	readonly #clock: TestClock;
	/** By engine and partition; an engine gives no number twice. */
	readonly #sent = new Map<string, Batch[]>();

	constructor(seed: number, model: Store, clock: TestClock) {
		this.#random = new Random(seed);
		this.#model = model;
		this.#clock = clock;
	}

	async next(): Promise<Move> {
		const random = this.#random;
		if (random.chance(0.3)) this.#clock.now += random.pick([1, 7, 60, 240, 260, 990, 3000]);
		// A clock that is set back: what a partition has told once is not undercut.
		else if (random.chance(0.02)) this.#clock.now -= random.pick([1, 50, 900]);
		const partition = random.integer(0, this.#model.partitions - 1);
		if (random.chance(0.35)) return this.#question(partition);
		return this.#batch(partition);
	}

	async #batch(partition: number): Promise<Move> {
		const random = this.#random;
		const engine = random.pick(ENGINES);
		const place = `${partition} ${engine}`;
		const sent = this.#sent.get(place) ?? [];
		this.#sent.set(place, sent);
		const last = sent.at(-1);
		if (last && random.chance(0.1)) return commit(partition, last, "again");
		const late = lateCopies(sent, this.#model.inFlight);
		if (late.length > 0 && random.chance(0.05)) return commit(partition, random.pick(late), "late");
		const { time } = await this.#model.read(partition, []);
		const at = random.chance(0.1) ? time + random.pick([1, 5000, -1000, -1001, -999]) : time - random.integer(0, 200);
		const number = (last?.number ?? 0) + random.pick([1, 1, 1, 4]);
		const batch = { engine, number, at, units: await this.#units(partition) };
		sent.push(batch);
		return commit(partition, batch, "new");
	}

	async #units(partition: number): Promise<Unit[]> {
		const random = this.#random;
		const count = random.chance(0.01) ? random.integer(100, 200) : random.integer(0, 5);
		const units: Unit[] = [];
		for (let n = 0; n < count; n++) units.push(await this.#unit(partition));
		return units;
	}

	async #unit(partition: number): Promise<Unit> {
		const random = this.#random;
		const written = this.#some(KEYS, 3);
		const read = [...new Set([...(random.chance(0.9) ? written : []), ...this.#some(KEYS, 2)])];
		const { records } = await this.#model.read(partition, read);
		const expected = records.map(({ key, version }): [string, number] => [key, this.#expected(version)]);
		if (random.chance(0.15)) return unitOf({ expected });
		return unitOf({
			expected,
			put: written.filter((_, n) => n !== 1).map((key) => ({ key, doc: this.#text() })),
			removed: written.filter((_, n) => n === 1),
			indexAdded: this.#entries(),
			indexRemoved: this.#entries(),
			events: this.#some(KEYS, 3).map((owner) => this.#event(owner)),
			forgotten: random.chance(0.15) ? [random.pick(KEYS)].map((owner) => ({ log: logOf(owner), owner })) : [],
			blobs: random.chance(0.2) ? [{ key: random.pick(KEYS), bytes: this.#bytes() }] : [],
			blobsRemoved: random.chance(0.1) ? [random.pick(KEYS)] : [],
			wantsTurn: random.chance(0.2),
		});
	}

	#event(owner: string): EventEntry {
		const log = logOf(owner);
		const group = this.#random.pick(KEYS);
		const event = { log, owner, at: this.#random.integer(0, 100), body: this.#text() };
		return this.#random.chance(0.3) && logOf(group) === log ? { ...event, group } : event;
	}

	#expected(version: number): number {
		if (this.#random.chance(0.93)) return version;
		return this.#random.pick([0, version + 1, Math.max(0, version - 1), 12_345_678_901_234]);
	}

	#question(partition: number): Move {
		const random = this.#random;
		const count = random.pick([1, 2, 3, 1000]);
		const queue = random.pick(QUEUES);
		const prefix = random.pick(PREFIXES);
		const keys = this.#some(KEYS, 4);
		const before = random.integer(0, 110);
		const position = random.chance(0.5) ? { score: random.pick(SCORES), key: random.pick(KEYS) } : undefined;
		const owner = random.chance(0.5) ? random.pick(KEYS) : undefined;
		const log = owner === undefined ? random.pick(LOGS) : logOf(owner);
		const behind = random.chance(0.5) ? { commit: random.integer(0, 40), index: random.integer(0, 3) } : undefined;
		const move = (told: string, ask: Move["ask"]): Move => ({ told: `partition ${partition}: ${told}`, ask });
		const where = (place: QueuePosition | undefined): string => (place ? ` behind ${JSON.stringify(place)}` : "");
		return random.pick([
			move(`read ${JSON.stringify(keys)}`, (store) => store.read(partition, keys)),
			move(`blobs of ${JSON.stringify(keys)}`, async (store) => {
				const { time, blobs } = await store.readBlobs(partition, keys);
				return { time, blobs: blobs.map((bytes) => bytes && [...bytes]) };
			}),
			move(`first ${count} of ${queue}${where(position)}`, (store) => store.first(partition, queue, count, position)),
			move(`last ${count} of ${queue}`, (store) => store.last(partition, queue, count)),
			move(`queues ${prefix}`, (store) => store.queues(partition, prefix)),
			move(`sizes of queues ${prefix}`, (store) => store.queueSizes(partition, prefix)),
			move("number of the last commit", (store) => store.lastCommit(partition)),
			move("logs", (store) => store.logs(partition)),
			move(`${count} events of ${owner} in ${log} behind ${JSON.stringify(behind)}`, async (store) => {
				const { time, events } = await store.events(partition, log, owner, behind, count);
				return { time, events: events.map(plain) };
			}),
			move(`trim before ${before}`, (store) => store.trimEvents(partition, before)),
			move("scan", (store) => recordsOf(store, partition)),
			move("scan blobs", (store) => blobKeysOf(store, partition)),
		]);
	}

	#entries(): IndexEntry[] {
		return this.#some(KEYS, 3).map((key) => {
			return { queue: this.#random.pick(QUEUES), key, score: this.#random.pick(SCORES) };
		});
	}

	/** Up to so many, each once. */
	#some<T>(from: readonly T[], most: number): T[] {
		const picked = Array.from({ length: this.#random.integer(0, most) }, () => this.#random.pick(from));
		return [...new Set(picked)];
	}

	#text(): string {
		const text = `text ${this.#random.integer(0, 999)}`;
		if (this.#random.chance(0.02)) return `\ud83d${text}`;
		if (this.#random.chance(0.1)) return `${text} é 日本 🦊\u0000\n`;
		return this.#random.chance(0.02) ? text.repeat(300) : text;
	}

	#bytes(): Uint8Array {
		return Uint8Array.from({ length: this.#random.integer(0, 40) }, () => this.#random.integer(0, 255));
	}
}

/** All a partition holds. */
export async function contents(store: Store, partition: number): Promise<unknown> {
	const { queues } = await store.queues(partition, "");
	const { blobs } = await store.readBlobs(partition, KEYS);
	return {
		records: await recordsOf(store, partition),
		blobs: blobs.map((bytes) => bytes && [...bytes]),
		blobKeys: await blobKeysOf(store, partition),
		sizes: (await store.queueSizes(partition, "")).queues,
		queues: await Promise.all(queues.map(async (name) => [name, (await store.first(partition, name, 10_000)).entries])),
		commits: (await store.lastCommit(partition)).commit,
		time: (await store.read(partition, [])).time,
		logs: await Promise.all(
			(await store.logs(partition)).logs.map(async (log) => [
				log,
				(await store.events(partition, log, undefined, undefined, 100_000)).events.map(plain),
			]),
		),
		histories: await Promise.all(
			KEYS.map(async (key) => (await store.events(partition, logOf(key), key, undefined, 100_000)).events.map(plain)),
		),
	};
}

const plain = ({ owner, group, at, body, commit, index }: LoggedEvent): unknown[] => [
	...[owner, group === owner ? undefined : group, at, body, commit, index],
];

const LOGS = ["a", "b", "c"];

/** All of an owner, or of a group, goes into one log. */
const logOf = (owner: string): string => LOGS[KEYS.indexOf(owner) % LOGS.length] as string;

/** Those no store may take for being on their way still, however many it remembers; only what writes is remembered. */
function lateCopies(sent: readonly Batch[], inFlight: number): Batch[] {
	const latest = sent.findLast(({ units }) => units.some(hasWrites))?.number ?? 0;
	return sent.filter(({ number }) => number <= latest - inFlight);
}

function commit(partition: number, batch: Batch, what: string): Move {
	const told = `partition ${partition}: ${what} batch ${JSON.stringify(batch)}`;
	return { told, ask: (store) => store.commit(partition, batch) };
}
