import { afterEach, describe, expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { type Command, type Kernel, kernel } from "../../src/kernel/kernel.ts";
import type { Outcome } from "../../src/kernel/outcome.ts";
import type { Tx } from "../../src/kernel/tx.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

interface Guard {
	members: number;
}

/** Adds to the queue and says so in its guard. */
const join = (tx: Tx, { token }: { token: string }): Outcome => {
	const { members } = tx.get<Guard>("guard:g") ?? { members: 0 };
	tx.put("guard:g", { members: members + 1 });
	tx.put(`member:${token}`, {});
	return { ok: true };
};

/** Counts the whole queue: as many as the guard says there are, or the scan was not complete. */
const count = (tx: Tx): Outcome<{ scanned: number; members: number }> => ({
	ok: true,
	scanned: tx.all("members", "guard:g").length,
	members: tx.get<Guard>("guard:g")?.members ?? 0,
});

const guarded: Kernel = {
	...kernel,
	rules: { ...kernel.rules, ...{ join, count } },
	placement: (key, record) =>
		key.startsWith("member:") ? [{ queue: "members", score: 0 }] : kernel.placement(key, record),
};

let engines: Engine[] = [];
afterEach(async () => {
	for (const engine of engines.splice(0)) await engine.close();
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Engines on one store, the last of them with writers that write the guard again and again. */
async function open({ inFlight = 2, engineCount = 1, writers = 16 } = {}) {
	const clock = new VirtualClock();
	const store = new MemoryStore(1, clock.now, engineCount > 1);
	Object.assign(store, { inFlight });
	let commits = 0;
	const commit = store.commit.bind(store);
	store.commit = async (partition, batch) => {
		commits += 1;
		return commit(partition, batch);
	};
	const make = (_: unknown, n: number) => new Engine({ store, clock, kernel: guarded, engineId: `${n}` });
	engines = Array.from({ length: engineCount }, make);
	const [first, last] = [engines[0], engines.at(-1)] as [Engine, Engine];
	let writing = true;
	let tokens = 0;
	let joined = 0;
	const write = async () => {
		for (; writing; joined++) await last.runner(0).run({ op: "join", token: `${tokens++}` } as unknown as Command);
	};
	for (let n = 0; n < writers; n++) write().catch(() => {});
	while (joined < 100) await turn();
	const stop = () => {
		writing = false;
	};
	const scan = async () =>
		(await first.runner(0).run({ op: "count" } as unknown as Command)) as ReturnType<typeof count>;
	return { clock, scan, first, commits: () => commits, joined: () => joined, stop };
}

describe.each([1, 2])("beside writers of its guard, %i batches on their way at once", (inFlight) => {
	it("a scan is made within a few rounds, and is complete", async () => {
		const { scan, commits, joined, stop } = await open({ inFlight });
		for (let n = 0; n < 20; n++) {
			const [before, joinedBefore] = [commits(), joined()];
			const ended = setTimeout(stop, 2000);
			const outcome = await scan();
			clearTimeout(ended);
			if (n === 0) process.stdout.write(`a scan: ${commits() - before} commits, ${joined() - joinedBefore} writes\n`);
			expect(outcome).toMatchObject({ ok: true });
			if (outcome.ok) expect(outcome.scanned).toBe(outcome.members);
			expect(commits() - before).toBeLessThanOrEqual(6);
			// Those it held back have gone on at once.
			expect(joined() - joinedBefore).toBeGreaterThan(0);
		}
		stop();
	});

	it("scans that come one upon the other do not keep its writers from writing", async () => {
		const { scan, commits, joined, stop } = await open({ inFlight });
		let scanning = true;
		const scanAgain = async () => {
			while (scanning) await scan();
		};
		for (let n = 0; n < 16; n++) scanAgain().catch(() => {});
		const [before, joinedBefore] = [commits(), joined()];
		while (commits() - before < 60) await turn();
		expect(joined() - joinedBefore).toBeGreaterThan(16 * 10);
		scanning = false;
		stop();
	});
});

it("beside another engine that writes its guard all the time a scan gets its turn", async () => {
	const { clock, scan, first, stop } = await open({ engineCount: 2 });
	let outcome: Awaited<ReturnType<typeof scan>> | undefined;
	void scan().then((answer) => (outcome = answer));
	for (let ms = 0; ms < 2000 && !outcome; ms++) await clock.advance(1);
	const { worstLosses } = first.counters;
	process.stdout.write(`a scan beside another engine lost ${worstLosses} times\n`);
	stop();
	expect(outcome).toMatchObject({ ok: true });
	if (outcome?.ok) expect(outcome.scanned).toBe(outcome.members);
	// Four before it asks for a turn, and the one on which it is given.
	expect(worstLosses).toBeLessThanOrEqual(6);
	await clock.advance(1000);
});
