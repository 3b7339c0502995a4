import { afterEach, describe, expect, it } from "vitest";
import { FlowFabricError } from "../../src/contract/errors.ts";
import { Engine } from "../../src/engine/engine.ts";
import { type Fault, faultLine } from "../../src/engine/fault-log.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { StoreError } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { HangingStore } from "./hanging-store.ts";

const PARTITIONS = 8;
const ALL = Array.from({ length: PARTITIONS }, (_, n) => n);
let clock: VirtualClock;
let store: HangingStore;
let backend: LocalBackend;
let faults: Fault[];
afterEach(async () => {
	store.wake();
	await clock.advance(2000);
	await backend.close();
});

async function open(shared: boolean): Promise<void> {
	clock = new VirtualClock();
	store = new HangingStore(PARTITIONS, clock.now, shared);
	faults = [];
	const engine = new Engine({ store, clock, onFault: (fault) => faults.push(fault) });
	clock.watch(() => !store.isAwaited && !engine.idle);
	await engine.start();
	backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
}

/** What a call comes to, and after how long. */
async function timed(call: Promise<unknown>, mostMs = 60_000): Promise<{ code: string; ms: number }> {
	const began = clock.monotonic();
	let ended: { code: string; ms: number } | undefined;
	const end = (code: string) => (ended = { code, ms: clock.monotonic() - began });
	call.then(
		(value) => end(Array.isArray(value) && value.length === 0 ? "empty" : "ok"),
		(error: unknown) => end(error instanceof FlowFabricError ? error.code : String(error)),
	);
	for (let ms = 0; ms < mostMs && !ended; ms += 50) await clock.advance(50);
	return ended ?? { code: "none", ms: mostMs };
}

const claim = (waitMs: number, instanceId = "i") => backend.leases.claim({ workerId: "w", instanceId, waitMs });

/** Work in every partition, none of it taken. */
async function fill(): Promise<void> {
	const items = Array.from({ length: 8 * PARTITIONS }, (_, n) => ({ kind: "job", idempotencyKey: `key ${n}` }));
	await backend.executions.createMany(items);
}

const hang = () => {
	clock.watch(() => false);
	store.hang(ALL);
};

const breakDown = () => {
	clock.watch(() => false);
	for (const partition of ALL) store.fail(partition, new StoreError("nobody there", { applied: "no", passing: true }));
};

const outages = { hangs: hang, "does not answer": breakDown };

describe.each(Object.entries(outages))("with a store that %s", (_, stop) => {
	describe.each([
		["shared", true],
		["of its own", false],
	])("%s", (_, shared) => {
		it.each([
			["nothing is known of work", false],
			["work is known of", true],
		])("a claim is told so, never that there is no work, though %s", async (_, isFilled) => {
			await open(shared);
			if (isFilled) await fill();
			else await claim(0);
			await clock.advance(1);
			stop();
			for (const waitMs of [0, 5000]) {
				const { code, ms } = await timed(claim(waitMs));
				expect({ waitMs, code }).toEqual({ waitMs, code: "store_unavailable" });
				expect(ms).toBeLessThanOrEqual(waitMs + 9000);
			}
		});

		it("a claim that waited since before is told so at the end of its wait", async () => {
			await open(shared);
			await claim(0);
			const waiting = claim(20_000);
			await clock.advance(10_000);
			stop();
			const { code, ms } = await timed(waiting);
			expect(code).toBe("store_unavailable");
			expect(ms).toBeLessThanOrEqual(13_000);
		});

		it("a worker with something to offer is told so in time too", async () => {
			await open(shared);
			await clock.advance(1);
			stop();
			const offering = { workerId: "w", instanceId: "new", capabilities: ["gpu"] };
			const { code, ms } = await timed(backend.leases.claim(offering));
			expect(code).toBe("store_unavailable");
			expect(ms).toBeLessThan(20_000);
		});
	});

	it("every other call is told so after 28 s at most", async () => {
		await open(true);
		await fill();
		const { id } = await backend.executions.create({ kind: "job" });
		stop();
		const { executions, lanes, workers, feed } = backend;
		const calls = {
			create: executions.create({ kind: "job" }),
			get: executions.get(id),
			list: executions.list(),
			cancel: executions.cancel(id),
			pause: lanes.pause("default"),
			workers: workers.list(),
			feed: feed.read({}),
		};
		const told = await Promise.all(Object.values(calls).map((call) => timed(call)));
		expect(told.map(({ code }) => code)).toEqual(told.map(() => "store_unavailable"));
		for (const { ms } of told) expect(ms).toBeLessThanOrEqual(28_100);
	});

	it("a minute of it makes one line for each class of fault", async () => {
		await open(true);
		for (let n = 0; n < 64; n++) await backend.executions.create({ kind: "job", delayMs: 2000 + 10 * n });
		stop();
		for (let n = 0; n < 11; n++) {
			void claim(0, `worker ${n}`).catch(() => {});
			await clock.advance(5000);
		}
		const lines = faults.map(faultLine);
		expect(lines.length).toBeGreaterThan(1);
		expect(new Set(faults.map(({ about }) => about)).size).toBe(lines.length);
		expect(lines.length).toBeLessThanOrEqual(6);
	});
});

describe("one partition of several that hangs", () => {
	it("is passed over by claims, which are given what the others have, and told when that is nothing", async () => {
		await open(true);
		await fill();
		clock.watch(() => false);
		store.hang([3]);
		const got: string[] = [];
		for (;;) {
			const { executions, ms } = await timedClaim();
			expect(ms).toBeLessThanOrEqual(9000);
			if (executions.length === 0) break;
			got.push(...executions);
		}
		const { executions } = backend;
		store.wake();
		await clock.advance(1000);
		const listed = (await executions.list({ limit: 1000 })).executions;
		const elsewhere = listed.filter(({ id }) => backend.engine.partitionOf(id) !== 3).map(({ id }) => id);
		expect(got.sort()).toEqual(elsewhere.sort());
	});

	it("gives work back that it gave to a claim which had gone", async () => {
		await open(false);
		await fill();
		hang();
		expect((await timed(claim(0))).code).toBe("store_unavailable");
		store.wake();
		await clock.advance(1000);
		const { executions } = await backend.executions.list({ limit: 1000 });
		expect(new Set(executions.map(({ publicState, reclaims }) => `${publicState} ${reclaims}`))).toEqual(
			new Set(["waiting 0"]),
		);
		expect(await claim(0)).toHaveLength(1);
	});

	async function timedClaim(): Promise<{ executions: string[]; ms: number }> {
		const taking = backend.leases.claim({ workerId: "w", instanceId: "i", max: 4 });
		const { code, ms } = await timed(taking);
		expect(["ok", "empty"]).toContain(code);
		return { executions: (await taking).map(({ id }) => id), ms };
	}
});

it("an empty claim asks a store that was not heard meanwhile once, and those that end together once for all", async () => {
	await open(false);
	await claim(0);
	await clock.advance(1);
	for (const name of Object.keys(store.calls)) delete store.calls[name];
	await claim(0);
	expect(store.calls).toEqual({ read: 1 });
	await clock.advance(1);
	const waiting = [claim(1000), claim(1000), claim(1000)];
	await clock.advance(1000);
	await Promise.all(waiting);
	expect(store.calls).toEqual({ read: 2 });
});
