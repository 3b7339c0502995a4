import { expect, test } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { kernel } from "../../src/kernel/kernel.ts";
import type { SortedSet } from "../../src/store/memory/sorted-set.ts";
import { Random } from "./random.ts";
import { type SimNetwork, SimPartition, SimStore, SOME_STALLS } from "./sim-store.ts";
import { Host, settled, World } from "./world.ts";

const SEEDS = 15;
const SWEEP_MS = 2000;
const WORK_MS = 30_000;
const FAULTS = { requestLost: 0.02, replyLost: 0.02, requestRepeated: 0.05, noticeLost: 0.2, conflictInvented: 0.02 };

/** Two engines that sweep often, on a store behind a bad network. */
function setUp(seed: number) {
	const world = new World();
	const random = new Random(seed);
	const network: SimNetwork = {
		world,
		random,
		partitions: Array.from({ length: 2 }, (_, n) => new SimPartition(n, {})),
		faults: { ...FAULTS },
		stalls: SOME_STALLS,
		clock: () => Math.floor(world.time + 1_700_000_000_000),
		stores: new Set(),
	};
	const backends = ["one", "two"].map((name, n) => {
		const host = new Host(world, name, 1);
		const store = new SimStore(network, host, n === 0 ? 1 : 8);
		const options = { clock: host, random: random.next, randomHex: random.hex, engineId: name, sweepMs: SWEEP_MS };
		return new LocalBackend({ engine: new Engine({ store, ...options }), actor: name, retentionMs: 0 });
	});
	return { world, random, network, backends };
}

type SetUp = ReturnType<typeof setUp>;

/** Submitters and workers that go on whatever a call is answered. */
async function workUntil({ world, random, backends }: SetUp, end: number, submitUntil: number): Promise<void> {
	const goOn = (until: number, round: () => Promise<unknown>) => {
		const go = async () => {
			while (world.time < until) {
				await round().catch(() => settled());
				await new Promise<void>((resolve) => world.after(random.integer(1, 80), resolve));
			}
		};
		void go();
	};
	for (const [n, { engine, executions, leases }] of backends.entries()) {
		const start = async (): Promise<void> =>
			engine.start().catch(() => new Promise((r) => world.after(200, () => r(start()))));
		void start();
		goOn(submitUntil, () =>
			executions.create({
				kind: "job",
				...(random.chance(0.4) ? { delayMs: random.integer(1, 3000) } : undefined),
				...(random.chance(0.3) ? { fairnessKey: `f${random.integer(0, 2)}` } : undefined),
			}),
		);
		goOn(end, async () => {
			const claimed = await leases.claim({ workerId: "w", instanceId: `w-${n}`, max: 4, leaseMs: 1000, waitMs: 500 });
			for (const { id, lease } of claimed) {
				if (random.chance(0.1)) continue;
				await leases.complete(id, { fence: { leaseId: lease.id, epoch: lease.epoch } });
			}
		});
	}
	await world.runUntil(end);
}

/** Index entries that are not what the records say. */
function driftOf({ network }: SetUp): string[] {
	return network.partitions.flatMap((partition) => {
		const wanted = [...partition.records.values()].flatMap(({ key, doc }) =>
			kernel.placement(key, kernel.decode(key, doc)).map(({ queue, score }) => `${queue} ${score} ${key}`),
		);
		const there = partition
			.queueNames("")
			.flatMap((queue) => partition.first(queue, 100_000).map(({ score, key }) => `${queue} ${score} ${key}`));
		return [...wanted.filter((each) => !there.includes(each)), ...there.filter((each) => !wanted.includes(each))];
	});
}

const mendedBy = ({ backends }: SetUp): number =>
	backends.reduce(
		(sum, { engine }) => sum + (engine.duties.rows(0).find(({ name }) => name === "index_reconciler")?.items ?? 0),
		0,
	);

/** Takes entries out of the index, and puts others in. */
function vandalise({ network, random }: SetUp): void {
	const partition = random.pick(network.partitions);
	const queues = partition.queueNames("");
	if (queues.length === 0) return;
	const queue = random.pick(queues);
	const set = partition.queues.get(queue) as SortedSet;
	const entry = random.pick(set.first(1000));
	if (random.chance(0.6)) set.remove(entry);
	else set.add({ key: entry.key, score: entry.score + random.integer(1, 50) });
	if (set.size === 0) partition.queues.delete(queue);
}

test("an index in order is never mended, whatever moves while it is looked at", { timeout: 120_000 }, async () => {
	let walked = 0;
	for (let seed = 1; seed <= SEEDS; seed++) {
		const scene = setUp(seed);
		for (const store of scene.network.stores) {
			const { scan } = store;
			store.scan = (...given) => {
				walked += 1;
				return scan.apply(store, given);
			};
		}
		await workUntil(scene, WORK_MS, WORK_MS);
		expect({ seed, mended: mendedBy(scene), drift: driftOf(scene) }).toEqual({ seed, mended: 0, drift: [] });
	}
	expect(walked).toBeGreaterThan(SEEDS * 20);
});

test("whatever becomes of the index under load, it is mended and all work gets done", {
	timeout: 120_000,
}, async () => {
	for (let seed = 1; seed <= SEEDS; seed++) {
		const scene = setUp(seed);
		const { world, network, backends } = scene;
		for (let at = 3000; at < WORK_MS / 2; at += 250) world.after(at, () => vandalise(scene));
		world.after(WORK_MS / 2, () =>
			Object.assign(network.faults, { requestLost: 0, replyLost: 0, conflictInvented: 0 }),
		);
		await workUntil(scene, WORK_MS, WORK_MS / 2);
		expect({ seed, drift: driftOf(scene) }).toEqual({ seed, drift: [] });
		expect(mendedBy(scene)).toBeGreaterThan(0);
		const states = network.partitions.flatMap((partition) =>
			[...partition.records.values()].flatMap(({ key, doc }) =>
				/^ex_[^/]*$/.test(key) ? [(kernel.decode(key, doc) as { lifecyclePhase: string }).lifecyclePhase] : [],
			),
		);
		expect({ seed, states: [...new Set(states)] }).toEqual({ seed, states: ["terminal"] });
		expect(backends.every(({ engine }) => !engine.closed)).toBe(true);
	}
});
