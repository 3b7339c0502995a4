import { afterEach, describe, expect, test } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { blobKeysOf, recordsOf } from "../conformance/scanned.ts";
import { storeTraffic } from "../conformance/store-traffic.ts";
import { type StoreRow, stores, TestClock } from "../conformance/stores.ts";
import { Commands, type Sent } from "./random-commands.ts";

const COMMANDS = Number(process.env.FF_HISTORY_COMMANDS ?? 5000);
const PER_HISTORY = 500;
const FIRST_SEED = Number(process.env.FF_SEED ?? 1);

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const close of opened.splice(0)) await close();
});

/**
 * Answers come one by one, in the order of the questions, and notices not at all: what came a moment sooner on one store
 * could otherwise change the order in which commands that were sent together are run.
 */
function inStep(store: Store): void {
	store.onNotice = () => {};
	let last: Promise<unknown> = Promise.resolve();
	for (const name of ["read", "first", "queues", "commit"] as const) {
		const original = store[name].bind(store) as (...given: unknown[]) => Promise<unknown>;
		const inTurn = (...given: unknown[]): Promise<unknown> => {
			const answer = Promise.all([original(...given), last]).then(([reply]) => aMomentLater(reply));
			last = answer;
			return answer;
		};
		Object.defineProperty(store, name, { value: inTurn });
	}
}

const aMomentLater = (reply: unknown): Promise<unknown> =>
	new Promise((resolve) => {
		setImmediate(resolve, reply);
	});

/** An engine whose time passes only when told, and whose every choice is the same as its twin's. */
async function engineOn(store: Store, clock: VirtualClock): Promise<Engine> {
	const calls = storeTraffic(store);
	inStep(store);
	const engine = new Engine({
		store,
		clock,
		engineId: "twin",
		// Walks over all records go in whatever order a store has, and what they have read is then in memory.
		sweepMs: Number.MAX_SAFE_INTEGER,
		random: () => 0.5,
		randomHex: (bytes) => "5".repeat(2 * bytes),
	});
	clock.watch(() => !engine.idle || calls.busy);
	await engine.start();
	opened.push(() => engine.close());
	return engine;
}

/** What there is in a partition, but for how often an engine had to commit to get there. */
async function contents(store: Store, partition: number): Promise<unknown> {
	const { queues } = await store.queues(partition, "");
	const keys = await blobKeysOf(store, partition);
	const records = await recordsOf(store, partition);
	const { logs } = await store.logs(partition);
	const all = await Promise.all(logs.map((log) => store.events(partition, log, undefined, undefined, 100_000)));
	const events = all.flatMap((page) => page.events);
	const byOwner = async (owner: string) => {
		const pages = await Promise.all(logs.map((log) => store.events(partition, log, owner, undefined, 100_000)));
		return { events: pages.flatMap((page) => page.events) };
	};
	return {
		records: records.map(({ key, doc }) => [key, doc]),
		blobs: await Promise.all(
			keys.map(async (key) => [
				key,
				Buffer.from((await store.readBlobs(partition, [key])).blobs[0] ?? []).toString("hex"),
			]),
		),
		sizes: (await store.queueSizes(partition, "")).queues,
		queues: await Promise.all(
			queues.map(async (name) => [name, (await store.first(partition, name, 100_000)).entries]),
		),
		events: events.map(({ log, owner, group, at, body }) => [log, owner, group, at, body]),
		histories: await Promise.all(records.map(async ({ key }) => (await byOwner(key)).events.map(({ body }) => body))),
	};
}

async function live(row: StoreRow, seed: number, told: Set<string>): Promise<number> {
	const clocks = [new VirtualClock(), new VirtualClock()] as const;
	const testClock = new TestClock();
	// The store asks the row's clock; the engine's own passes with it.
	Object.defineProperty(testClock, "now", { get: () => clocks[0].now() });
	const store = await row.open(testClock);
	const model = new MemoryStore(row.partitions, clocks[1].now, store.store.shared);
	const { writesPerBatch, inFlight } = store.store;
	Object.defineProperties(model, { writesPerBatch: { value: writesPerBatch }, inFlight: { value: inFlight } });
	const engines = [await engineOn(store.store, clocks[0]), await engineOn(model, clocks[1])] as const;
	const commands = new Commands(seed, row.partitions);
	let sent = 0;
	while (sent < PER_HISTORY) {
		if (commands.random.chance(0.3)) {
			const ms = commands.random.pick([1, 97, 509, 1307, 4001, 22_000]);
			await Promise.all(clocks.map((clock) => clock.advance(ms)));
		}
		const together = commands.next();
		const [here, there] = await Promise.all(engines.map((engine) => answers(engine, together)));
		sent += together.length;
		together.forEach((one, n) => {
			const about = `FF_SEED=${seed}, command ${sent}: ${JSON.stringify(one)}`;
			expect(here?.[n], about).toEqual(there?.[n]);
			const outcome = there?.[n] as { ok: boolean; code?: string };
			told.add(`${one.command.op} ${outcome.ok ? "ok" : outcome.code}`);
			commands.heard(one, outcome);
		});
	}
	await Promise.all(clocks.map((clock) => clock.settle()));
	for (let partition = 0; partition < row.partitions; partition++)
		expect(await contents(store.store, partition), `FF_SEED=${seed}`).toEqual(await contents(model, partition));
	for (const close of opened.splice(0)) await close();
	await store.discard();
	return sent;
}

function answers(engine: Engine, together: Sent[]): Promise<unknown[]> {
	return Promise.all(
		together.map(async ({ partition, command }) =>
			JSON.parse(JSON.stringify(await engine.runner(partition).run(command))),
		),
	);
}

/** Everything that must have been answered at least once, or the histories prove less than they seem to. */
const everywhere = [
	...["create", "createMany", "claim", "complete", "fail", "delay", "release", "renew", "progress", "cancel"],
	...[
		"revokeLease",
		"changePriority",
		"setTags",
		"replay",
		"delete",
		"tick",
		"registerWorker",
		"removeWorker",
		"grant",
		"acceptGrant",
		"copyLane",
	],
].map((op) => `${op} ok`);
const codes = ["stale_lease", "lease_expired", "execution_not_found", "max_replays_exhausted", "idempotency_conflict"];

describe.each(stores.filter(({ name }) => name.startsWith("valkey")))("twin engines, one on $name", (row) => {
	test(`${COMMANDS} random commands have the same outcomes and leave the same records`, {
		timeout: 60_000 + COMMANDS * 20,
	}, async () => {
		const told = new Set<string>();
		let sent = 0;
		for (let seed = FIRST_SEED; sent < COMMANDS; seed++) sent += await live(row, seed, told);
		const answered = [...told].join(" | ");
		const missing = [...everywhere, ...codes].filter((answer) => !answered.includes(answer));
		if (COMMANDS >= 5000) expect(missing).toEqual([]);
	});
});
