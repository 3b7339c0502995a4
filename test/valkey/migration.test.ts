import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { FlowFabric } from "../../src/index.ts";
import { slotOfId } from "../../src/kernel/ids.ts";
import { openValkeyStore } from "../../src/store/valkey/open.ts";
import { recordsOf } from "../conformance/scanned.ts";
import { format } from "../conformance/stores.ts";
import { put } from "../conformance/trial.ts";
import { hasValkey } from "../servers/valkey-server.ts";
import { type Bed, type BedNode, cluster } from "./beds.ts";
import { Load } from "./load.ts";
import { migrateSlot, slotOfPartition } from "./slot-migration.ts";

const ROUNDS = Number(process.env.FF_FAULT_ROUNDS ?? 1);
const PARTITIONS = 8;
const HELD = 40;
/** A worker gives up a lease it could not renew while it lasted; so these outlast the migration. */
const LEASE_MS = 15_000;
/** These do not: their holders can renew them again only when they have lapsed. */
const SHORT_LEASE_MS = 2000;
const MIGRATION_MS = 4000;

/** Holds short leases and renews each of them over and over, whatever the answers. */
class StubbornHolder {
	readonly #ff: FlowFabric;
	readonly #fences: Map<string, { leaseId: string; epoch: number }>;
	readonly #renewing: Promise<void>[];
	#over = false;

	private constructor(ff: FlowFabric, fences: Map<string, { leaseId: string; epoch: number }>) {
		this.#ff = ff;
		this.#fences = fences;
		this.#renewing = [...fences].map(([id, fence]) => this.#renew({ executionId: id, ...fence }));
	}

	static async start(ff: FlowFabric): Promise<StubbornHolder> {
		await ff.submitMany(Array.from({ length: HELD }, () => ({ kind: "stubborn" })));
		const fences = new Map<string, { leaseId: string; epoch: number }>();
		while (fences.size < HELD) {
			const who = { workerId: "stubborn", instanceId: "stubborn", kinds: ["stubborn"] };
			const claimed = await ff.backend.leases.claim({ ...who, max: HELD, leaseMs: LEASE_MS, waitMs: 1000 });
			for (const { id, lease } of claimed) fences.set(id, { leaseId: lease.id, epoch: lease.epoch });
		}
		return new StubbornHolder(ff, fences);
	}

	/** It goes on renewing until all are done. */
	async finish(): Promise<string[]> {
		const held = [...this.#fences];
		await Promise.all(held.map(([id, fence]) => this.#ff.backend.leases.complete(id, { fence })));
		this.#over = true;
		await Promise.all(this.#renewing);
		return held.map(([id]) => id);
	}

	async #renew(lease: { executionId: string; leaseId: string; epoch: number }): Promise<void> {
		while (!this.#over) {
			await this.#ff.backend.leases.renew({ leases: [lease], leaseMs: SHORT_LEASE_MS });
			await sleep(SHORT_LEASE_MS / 3);
		}
	}
}

describe.runIf(hasValkey())("a slot that moves key by key under load", () => {
	let bed: Bed;
	let load: Load;
	beforeEach(async () => {
		bed = await cluster();
		load = await Load.start(bed.url, { partitions: PARTITIONS });
	});
	afterEach(async () => {
		await load.close();
		await bed.discard();
	});

	test("its commits wait, nothing is lost, and no holder that kept renewing loses its work", {
		timeout: 180_000 + 60_000 * ROUNDS,
	}, async () => {
		let release = () => {};
		const released = new Promise<void>((resolve) => (release = resolve));
		const worker = load.ff.worker({ concurrency: HELD, leaseMs: LEASE_MS, handleSignals: false });
		let holding = 0;
		worker.handle("hold", async () => {
			holding += 1;
			await released;
		});
		await worker.start();
		const held: string[] = [];
		for (let n = 0; n < HELD; n++) held.push((await load.ff.submit("hold")).id);
		while (holding < HELD) await load.flows(10);
		const stubborn = await StubbornHolder.start(load.ff);

		const owners = new Map<number, BedNode>();
		for (let round = 0; round < ROUNDS; round++) {
			const partition = round % PARTITIONS;
			const slot = slotOfPartition(partition, PARTITIONS);
			const from = owners.get(partition) ?? (bed.primaries[Math.floor((slot * 3) / 16384)] as BedNode);
			const to = bed.primaries[(bed.primaries.indexOf(from) + 1) % bed.primaries.length] as BedNode;
			const here = held.filter((id) => (slotOfId("ex", id) ?? 0) % PARTITIONS === partition).length;
			await load.flows();
			const refused = load.failures;
			const moved = await migrateSlot(slot, from, to, bed.primaries, MIGRATION_MS);
			owners.set(partition, to);
			process.stdout.write(
				`slot ${slot}: ${moved} keys moved, ${here} leases there, ${load.failures - refused} refused\n`,
			);
			await load.flows();
		}
		release();
		held.push(...(await stubborn.finish()));
		await load.drain();
		const { acknowledged, lost, doubled, stuck } = await load.audit();
		const reclaims = await load.reclaims(held);
		process.stdout.write(
			`${ROUNDS} slots moved: ${acknowledged} acknowledged, ${lost.length} lost, ${doubled.length} doubled, ${stuck.length} stuck, ${reclaims} of ${held.length} reclaimed\n`,
		);
		expect({ lost, doubled, stuck, reclaims }).toEqual({ lost: [], doubled: [], stuck: [], reclaims: 0 });
		expect(holding).toBe(HELD);
		expect(load.failures).toBe(0);
	});
});

test.runIf(hasValkey())("a walk over records finds them all, although their slot has moved since", async () => {
	const bed = await cluster();
	const store = await openValkeyStore(bed.url, { format, partitions: 1 });
	onTestFinished(async () => {
		await store.close();
		await bed.discard();
	});
	const units = Array.from({ length: 30 }, (_, n) => put(`record ${n}`, ""));
	await store.commit(0, { engine: "e", number: 1, at: (await store.read(0, [])).time, units });
	const slot = slotOfPartition(0, 1);
	const from = bed.primaries[Math.floor((slot * 3) / 16384)] as BedNode;
	const to = bed.primaries.find((node) => node !== from) as BedNode;
	await migrateSlot(slot, from, to, bed.primaries, 0);
	expect(await recordsOf(store, 0)).toHaveLength(30);
});
