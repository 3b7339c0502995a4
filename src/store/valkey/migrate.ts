import { randomUUID } from "node:crypto";
import { type IndexEntry, type QueuePosition, type RecordFormat, type Unit, unitOf } from "../port.ts";
import { allRecords } from "../scanning.ts";
import { moveEarlierLog } from "./earlier-log.ts";
import type { Call } from "./node.ts";
import { partitionKeys } from "./partition-keys.ts";
import type { Servers } from "./servers.ts";
import type { StoreSettings } from "./settings.ts";
import { partitionTags, slotOf } from "./slots.ts";
import type { ValkeyStore } from "./store.ts";

const PAGE = 500;
/** The first format in which every namespace has a log of its own. */
const LOGS_SINCE = 4;

/**
 * Brings every document up to this version's format and builds the index anew, by commits like any others. It may be
 * killed at any point and begun again, and several may do it at the same time:
 *
 * - Programs of the earlier format are stopped first: their functions are gone from the server.
 * - Then the number of every partition's latest commit is noted, once for all who migrate. A record with a higher
 *   version was written since, in the new format; no other is touched twice, since a unit names the version it read.
 * - Entries are added where records want them, and afterwards those that no record wants are taken away.
 * - Events move first: whatever is committed from then on goes where they have gone.
 */
export async function migrateRecords(
	store: ValkeyStore,
	servers: Servers,
	{ format: from }: StoreSettings,
	format: RecordFormat,
): Promise<void> {
	const note = `${servers.url.prefix}migration:${from}:${format.format}`;
	const marks = await noteMarks(store, servers, note);
	if (from < LOGS_SINCE) await moveEarlierLogs(store.partitions, servers);
	for (let partition = 0; partition < store.partitions; partition++) {
		const sender = new MigrationSender(store, partition);
		for await (const { key, version, doc } of allRecords(store, partition, PAGE)) {
			const migrated = version > (marks[partition] ?? 0) ? doc : format.migrate(from, key, doc);
			const put = migrated === doc ? [] : [{ key, doc: migrated }];
			const indexAdded = format.indexOf(key, migrated).map(({ queue, score }) => ({ queue, score, key }));
			if (put.length + indexAdded.length > 0) await sender.add(unitOf({ expected: [[key, version]], put, indexAdded }));
		}
		await sender.flush();
		for await (const { entry, version } of unwantedEntries(store, partition, format)) {
			await sender.add(unitOf({ expected: [[entry.key, version]], indexRemoved: [entry] }));
		}
		await sender.flush();
	}
}

async function moveEarlierLogs(partitions: number, servers: Servers): Promise<void> {
	for (const tag of partitionTags(partitions)) {
		const slot = slotOf(String(tag));
		await moveEarlierLog(partitionKeys(servers.url.prefix, tag), async <T>(call: Call) => {
			return (await servers.call(slot, call)) as T;
		});
	}
}

/** The last commit of every partition when the first of all migrators began. */
async function noteMarks(store: ValkeyStore, servers: Servers, note: string): Promise<number[]> {
	const marks: number[] = [];
	for (let partition = 0; partition < store.partitions; partition++) {
		marks.push((await store.lastCommit(partition)).commit);
	}
	const noted = await servers.call(slotOf(note), ["SET", note, JSON.stringify(marks), "NX", "GET"]);
	return noted === null ? marks : (JSON.parse(String(noted)) as number[]);
}

async function* unwantedEntries(store: ValkeyStore, partition: number, format: RecordFormat) {
	const { queues } = await store.queues(partition, "");
	for (const queue of queues) {
		let after: QueuePosition | undefined;
		do {
			const { entries } = await store.first(partition, queue, PAGE, after);
			const keys = entries.map(({ key }) => key);
			const { records } = await store.read(partition, keys);
			for (const [n, { key, score }] of entries.entries()) {
				const { version, doc } = records[n] ?? { version: 0, doc: "" };
				const wanted = version === 0 ? [] : format.indexOf(key, doc);
				if (wanted.some((place) => place.queue === queue && place.score === score)) continue;
				const entry: IndexEntry = { queue, key, score };
				yield { entry, version };
			}
			after = entries.length < PAGE ? undefined : entries.at(-1);
		} while (after);
	}
}

/** Sends units in batches. One that lost was overtaken by somebody who writes the new format: nothing is left to do. */
class MigrationSender {
	readonly #store: ValkeyStore;
	readonly #partition: number;
	readonly #engine = `migration-${randomUUID()}`;
	#number = 0;
	#units: Unit[] = [];

	constructor(store: ValkeyStore, partition: number) {
		this.#store = store;
		this.#partition = partition;
	}

	async add(unit: Unit): Promise<void> {
		this.#units.push(unit);
		if (this.#units.length >= this.#store.writesPerBatch) await this.flush();
	}

	async flush(): Promise<void> {
		const units = this.#units;
		this.#units = [];
		let looked = units.length === 0;
		while (!looked) {
			const { time } = await this.#store.read(this.#partition, []);
			const batch = { engine: this.#engine, number: ++this.#number, at: time, units };
			looked = (await this.#store.commit(this.#partition, batch)).results.length > 0;
		}
	}
}
