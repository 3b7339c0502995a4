import { describe, expect, test } from "vitest";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { Cluster, type Node } from "./cluster.ts";
import { Random } from "./random.ts";
import { noFaults, type SimNetwork, SimPartition, SOME_STALLS } from "./sim-store.ts";
import { asCommand, simulatedKernel } from "./test-rules.ts";
import { settled, World } from "./world.ts";

/** Two engines at some distance from one store, and nothing that goes wrong. */
async function twoEngines(partitions: number, latencies: [number, number]) {
	const world = new World();
	const random = new Random(1);
	const network: SimNetwork = {
		world,
		random,
		partitions: Array.from({ length: partitions }, (_, n) => new SimPartition(n, {})),
		faults: noFaults,
		stalls: SOME_STALLS,
		clock: () => Math.floor(world.time + 1_700_000_000_000),
		stores: new Set(),
	};
	const backend = (engine: ConstructorParameters<typeof LocalBackend>[0]["engine"]) =>
		new LocalBackend({ engine, actor: "test", retentionMs: 86_400_000 });
	const cluster = new Cluster(network, simulatedKernel({}), latencies, backend);
	cluster.start(0);
	cluster.start(1);
	// Long enough that each has heard of the other.
	await world.runUntil(8000);
	const total = (name: "lost" | "units"): number =>
		cluster.nodes.reduce((sum, node) => sum + node.backend.engine.counters[name], 0);
	const worstLosses = () => Math.max(...cluster.nodes.map((node) => node.backend.engine.counters.worstLosses));
	return { world, nodes: cluster.nodes as [Node, Node], total, worstLosses };
}

/** Goes round for as long as it is wanted; returns how often it has. */
function goRound(isWanted: () => boolean, round: () => Promise<unknown>): { rounds: number; failed: number } {
	const counts = { rounds: 0, failed: 0 };
	const go = async () => {
		while (isWanted()) {
			try {
				await round();
				counts.rounds += 1;
			} catch {
				counts.failed += 1;
				await settled();
			}
		}
	};
	void go();
	return counts;
}

const SUBMITTERS = 8;
const WORKERS = 8;

describe.each([
	["as near", [1, 1]],
	["one far away", [0.5, 10]],
] as const)("two engines %s, each with submitters and workers, 8 partitions", (_, latencies) => {
	test("run few commands again, and finish everything", async () => {
		const { world, nodes, total, worstLosses } = await twoEngines(8, [...latencies]);
		let submitting = true;
		let working = true;
		let submitted = 0;
		let completed = 0;
		for (const [n, { backend }] of nodes.entries()) {
			for (let at = 0; at < SUBMITTERS; at++) {
				goRound(
					() => submitting,
					async () => {
						await backend.executions.create({ kind: "job" });
						submitted += 1;
					},
				);
			}
			for (let at = 0; at < WORKERS; at++) {
				const claim = { workerId: "w", instanceId: `${n}-${at}`, waitMs: 30_000, max: 4 };
				goRound(
					() => working,
					async () => {
						const claimed = await backend.leases.claim(claim);
						await Promise.all(
							claimed.map(async ({ id, lease }) => {
								await backend.leases.complete(id, { fence: { leaseId: lease.id, epoch: lease.epoch } });
								completed += 1;
							}),
						);
					},
				);
			}
		}
		await world.runUntil(world.time + 1500);
		submitting = false;
		await world.runUntil(world.time + 100);
		for (let waited = 0; completed < submitted && waited < 20; waited++) await world.runUntil(world.time + 500);
		working = false;
		const lost = total("lost") / total("units");
		const figures = `${submitted} submitted, ${completed} done, ${(100 * lost).toFixed(2)} % of units run again`;
		process.stdout.write(`two engines (${latencies.join(", ")} ms): ${figures}, worst ${worstLosses()} in a row\n`);
		expect(submitted).toBeGreaterThan(1000);
		expect(completed).toBe(submitted);
		// Without sharing partitions out it is 3 % where both are near.
		expect(lost).toBeLessThanOrEqual(0.02);
		expect(worstLosses()).toBeLessThanOrEqual(15);
		for (const { host } of nodes) host.die();
	});
});

test("two engines whose every command writes one record: nobody is turned away, nobody loses for long", async () => {
	for (const latencies of [
		[1, 1],
		[0.5, 15],
	] as const) {
		const { world, nodes, worstLosses } = await twoEngines(1, [...latencies]);
		let wanted = true;
		const writers = nodes.flatMap(({ backend }, n) =>
			Array.from({ length: 8 }, (_, at) =>
				goRound(
					() => wanted,
					() => backend.engine.runner(0).run(asCommand({ op: "writeJournal", name: "hot", token: `${n}-${at}` })),
				),
			),
		);
		await world.runUntil(world.time + 3000);
		wanted = false;
		const rounds = writers.map((writer) => writer.rounds);
		process.stdout.write(
			`one record (${latencies.join(", ")} ms): ${rounds} writes, worst ${worstLosses()} in a row\n`,
		);
		expect(writers.map(({ failed }) => failed)).toEqual(writers.map(() => 0));
		expect(Math.min(...rounds)).toBeGreaterThan(0);
		expect(worstLosses()).toBeLessThanOrEqual(15);
		for (const { host } of nodes) host.die();
	}
});
