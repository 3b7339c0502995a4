import { expect } from "vitest";
import { MemoryStore } from "../../../src/store/memory/store.ts";
import type { Store, Unit } from "../../../src/store/port.ts";
import { recordsOf } from "../scanned.ts";
import { type Case, entry, event, type Trial, unit } from "../trial.ts";

const KEYS = ["a", "b", "c", "d", "e"];
const QUEUES = ["due", "q", "list,x", "list,y"];

/** A small repeatable source of choices. */
function choices(seed: number) {
	let state = seed;
	const below = (limit: number): number => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * limit);
	};
	const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
	const some = <T>(make: () => T, most: number): T[] => Array.from({ length: below(most + 1) }, make);
	return { below, pick, some };
}

type Choices = ReturnType<typeof choices>;

/** A unit that says for each key whether it expects the present version or a wrong one; stores number differently. */
/** All of an owner, or of a group, goes into one log. */
const logOf = (owner: string): string => (KEYS.indexOf(owner) % 2 === 0 ? "even" : "odd");

const eventOf = (owner: string, other: string, body: string, at: number) => {
	const log = logOf(owner);
	return event(owner, body, at, logOf(other) === log && other !== owner ? { log, group: other } : { log });
};

function randomUnit({ below, pick, some }: Choices): {
	parts: Partial<Unit>;
	expected: { key: string; stale: boolean }[];
} {
	const written = [...new Set(some(() => pick(KEYS), 3))];
	const read = [...new Set([...some(() => pick(KEYS), 2), ...written])];
	const randomEntry = () => entry(pick(QUEUES), below(5) - 2, pick(KEYS));
	return {
		expected: read.map((key) => ({ key, stale: below(8) === 0 })),
		parts: {
			put: written.filter((_, n) => n !== 1).map((key) => ({ key, doc: `doc ${below(1000)}` })),
			removed: written.filter((_, n) => n === 1),
			indexAdded: some(randomEntry, 3),
			indexRemoved: some(randomEntry, 3),
			events: some(() => eventOf(pick(KEYS), pick(KEYS), `body ${below(1000)}`, below(100)), 2),
			forgotten: below(6) === 0 ? [pick(KEYS)].map((owner) => ({ log: logOf(owner), owner })) : [],
			blobs: below(4) === 0 ? [{ key: pick(KEYS), bytes: Uint8Array.of(below(256), below(256)) }] : [],
			blobsRemoved: below(8) === 0 ? [pick(KEYS)] : [],
		},
	};
}

async function withVersions(store: Store, partition: number, planned: ReturnType<typeof randomUnit>): Promise<Unit> {
	const { records } = await store.read(
		partition,
		planned.expected.map(({ key }) => key),
	);
	const expected = planned.expected.map(({ key, stale }, n): [string, number] => {
		const version = records[n]?.version ?? 0;
		return [key, stale ? version + 1_000_000 : version];
	});
	return unit({ ...planned.parts, expected });
}

/** All a partition holds, without the numbers that stores may choose differently. */
async function contents(store: Store, partition: number): Promise<unknown> {
	const records = await recordsOf(store, partition);
	const { logs } = await store.logs(partition);
	const inLog = async (log: string, owner?: string) =>
		(await store.events(partition, log, owner, undefined, 10_000)).events.map((event) => [
			...[event.log, event.owner, event.group, event.at, event.body],
		]);
	const { blobs } = await store.readBlobs(partition, KEYS);
	const { queues } = await store.queues(partition, "");
	const sizes = await store.queueSizes(partition, "");
	return {
		records: records.map(({ key, doc }) => [key, doc]),
		blobs: blobs.map((blob) => blob && [...blob]),
		sizes: sizes.queues,
		queues: await Promise.all(
			queues.map(async (queue) => [queue, (await store.first(partition, queue, 1000)).entries]),
		),
		logs,
		events: await Promise.all(logs.map((log) => inLog(log))),
		histories: await Promise.all(KEYS.map((key) => inLog(logOf(key), key))),
	};
}

async function expectAlike(trial: Trial, seed: number): Promise<void> {
	const choose = choices(seed);
	const model = new MemoryStore(1, trial.clock.read);
	const told: string[] = [];
	for (let number = 1; number <= 60; number++) {
		trial.clock.now += choose.below(50);
		const planned = choose.some(() => randomUnit(choose), 4);
		const at = trial.clock.now;
		const send = async (store: Store, partition: number) => {
			const units = await Promise.all(planned.map((one) => withVersions(store, partition, one)));
			return store.commit(partition, { engine: "engine", number, at, units });
		};
		const [here, there] = await Promise.all([send(trial.store, trial.home), send(model, 0)]);
		const applied = (reply: typeof here): string => reply.results.map(({ ok }) => (ok ? "+" : "-")).join("");
		told.push(applied(here));
		expect(told.join(" ")).toBe([...told.slice(0, -1), applied(there)].join(" "));
		if (choose.below(10) === 0) {
			const before = choose.below(100);
			const [trimmedHere, trimmedThere] = await Promise.all([
				trial.store.trimEvents(trial.home, before),
				model.trimEvents(0, before),
			]);
			expect(trimmedHere.trimmed).toBe(trimmedThere.trimmed);
		}
		if (choose.below(20) === 0) await trial.reopen();
		expect(await contents(trial.store, trial.home)).toEqual(await contents(model, 0));
	}
}

export function historyCases(test: Case): void {
	for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
		test(`a random history is lived through as by the plain model (seed ${seed})`, (trial) => expectAlike(trial, seed));
	}
}
