import { afterEach, describe, expect, it } from "vitest";
import type { WorkerNotice } from "../../src/contract/replies.ts";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { StoreError } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const clock = new VirtualClock();
const opened: Engine[] = [];

afterEach(async () => {
	for (const engine of opened.splice(0)) await engine.close();
});

/** Engines that share one store, as on several machines. */
async function engines(count: number, store = new MemoryStore(4, clock.now)): Promise<LocalBackend[]> {
	const backends = Array.from({ length: count }, () => {
		const engine = new Engine({ store, clock });
		opened.push(engine);
		return new LocalBackend({ engine, actor: "test", retentionMs: 86_400_000 });
	});
	await Promise.all(backends.map(({ engine }) => engine.start()));
	clock.watch(() => opened.some((engine) => !engine.idle));
	return backends;
}

const claim = { workerId: "w", instanceId: "i", max: 3, requestId: "r" };

describe("a claim with a request id", () => {
	it("is answered by another engine with the same leases", async () => {
		const [one, two] = (await engines(2)) as [LocalBackend, LocalBackend];
		await one.executions.createMany(Array.from({ length: 10 }, () => ({ kind: "job" })));
		const first = await one.leases.claim(claim);
		expect(first).toHaveLength(3);
		expect(await two.leases.claim(claim)).toEqual(first);
		expect(await one.leases.claim(claim)).toEqual(first);
	});

	it("takes from a partition once, although two engines are asked at the same time", async () => {
		const store = new MemoryStore(1, clock.now);
		const [one, two] = (await engines(2, store)) as [LocalBackend, LocalBackend];
		await one.executions.createMany(Array.from({ length: 10 }, () => ({ kind: "job" })));
		const [first, second] = await Promise.all([one.leases.claim(claim), two.leases.claim(claim)]);
		expect(first).toHaveLength(3);
		expect(second).toEqual(first);
		expect((await one.executions.list({ state: "active" })).executions).toHaveLength(3);
	});

	it("fails when a partition cannot be asked what it gave", async () => {
		const store = new MemoryStore(4, clock.now);
		const [one, two] = (await engines(2, store)) as [LocalBackend, LocalBackend];
		await one.executions.createMany(Array.from({ length: 10 }, () => ({ kind: "job" })));
		await one.leases.claim(claim);
		const read = store.read.bind(store);
		store.read = async (partition, keys) => {
			if (partition === 2) throw new StoreError("nobody there", { applied: "no" });
			return read(partition, keys);
		};
		await expect(two.leases.claim(claim)).rejects.toMatchObject({ code: "store_unavailable" });
		store.read = read;
	});
});

describe("a feed", () => {
	it("is woken by what another engine commits", async () => {
		const [one, two] = (await engines(2)) as [LocalBackend, LocalBackend];
		const waiting = two.feed.read({ cursor: "end", waitMs: 30_000 });
		await clock.settle();
		const { id } = await one.executions.create({ kind: "job" });
		expect((await waiting).events.map(({ executionId }) => executionId)).toEqual([id]);
	});

	it("watches nothing any more once it has answered", async () => {
		const store = new MemoryStore(2, clock.now);
		const watched = new Set<string>();
		const watch = store.watch.bind(store);
		store.watch = (partition, key) => {
			const stop = watch(partition, key);
			watched.add(`${partition} ${key}`);
			return () => {
				watched.delete(`${partition} ${key}`);
				stop();
			};
		};
		const [one] = (await engines(1, store)) as [LocalBackend];
		const waiting = one.feed.read({ cursor: "end", waitMs: 1000 });
		await clock.settle();
		expect(watched.size).toBe(2);
		await clock.advance(1000);
		await waiting;
		expect(watched.size).toBe(0);
		expect(one.engine.watchers.size).toBe(0);
	});

	it("that waits is told when its engine closes", async () => {
		const [one] = (await engines(1)) as [LocalBackend];
		const waiting = one.feed.read({ cursor: "end", waitMs: 30_000 });
		const refused = expect(waiting).rejects.toMatchObject({ code: "shutting_down" });
		await clock.settle();
		opened.length = 0;
		await one.close();
		await refused;
	});

	it("never passes over what an engine noted as gone before it let go of it", async () => {
		const store = new MemoryStore(1, clock.now);
		const [one] = (await engines(1, store)) as [LocalBackend];
		const { id } = await one.executions.create({ kind: "job" });
		await one.executions.cancel(id);
		await one.executions.delete(id);
		const { nextCursor } = await one.feed.read({ limit: 1 });
		// The engine that trims dies between its note and the deed: readers are refused from the note on.
		store.trimEvents = () => new Promise(() => {});
		await clock.advance(26 * 3_600_000);
		await expect(one.feed.read({ cursor: nextCursor })).rejects.toMatchObject({ code: "cursor_expired" });
	});
});

describe("readiness", () => {
	it("is refused when the store does not answer for 2 seconds", async () => {
		const store = new MemoryStore(2, clock.now);
		const [one] = (await engines(1, store)) as [LocalBackend];
		await one.admin.ready();
		store.read = () => new Promise(() => {});
		let told: unknown;
		void one.admin.ready().catch((error: unknown) => (told = error));
		await clock.advance(1999);
		expect(told).toBeUndefined();
		await clock.advance(1);
		expect(told).toMatchObject({ code: "store_unavailable", retryable: true });
	});

	it("is refused at once when the store says no, and by a closed engine", async () => {
		const store = new MemoryStore(2, clock.now);
		const [one] = (await engines(1, store)) as [LocalBackend];
		const { read } = store;
		store.read = () => Promise.reject(new StoreError("nobody there", { applied: "no" }));
		await expect(one.admin.ready()).rejects.toMatchObject({ code: "store_unavailable" });
		store.read = read;
		opened.length = 0;
		await one.close();
		await expect(one.admin.ready()).rejects.toMatchObject({ code: "shutting_down" });
	});
});

it("items that keep failing are counted and shown as parked", async () => {
	const store = new MemoryStore(1, clock.now);
	const [one] = (await engines(1, store)) as [LocalBackend];
	const { id } = await one.executions.create({ kind: "job", delayMs: 1000 });
	const { records } = await store.read(0, [id]);
	const [stored] = records;
	await store.commit(0, {
		engine: "vandal",
		number: 1,
		at: clock.now(),
		units: [
			{
				...{ expected: [], removed: [], indexAdded: [], indexRemoved: [], events: [] },
				...{ forgotten: [], blobs: [], blobsRemoved: [], wantsTurn: false },
				put: [{ key: stored?.key ?? "", doc: "not a record" }],
			},
		],
	});
	const due = async () => (await one.admin.scanners()).scanners.find(({ name }) => name === "due");
	await clock.advance(4000);
	expect(await due()).toMatchObject({ errors: 3, parked: 1 });
});

describe("a holder", () => {
	it("hears at its engine what is done to its work at another", async () => {
		const [one, two] = (await engines(2)) as [LocalBackend, LocalBackend];
		const [asked, revoked] = [
			await one.executions.create({ kind: "job" }),
			await one.executions.create({ kind: "job" }),
		];
		const leases = new Map((await one.leases.claim(claim)).map(({ id, lease }) => [id, lease]));
		const heard: WorkerNotice[] = [];
		const elsewhere: WorkerNotice[] = [];
		one.leases.notices("i", (notice) => heard.push(notice));
		one.as({ actor: "test", namespace: "other" }).leases.notices("i", (notice) => elsewhere.push(notice));
		await two.executions.cancel(asked.id, { reason: "enough" });
		await two.executions.revokeLease(revoked.id);
		const about = (id: string) => ({ executionId: id, leaseId: leases.get(id)?.id, epoch: leases.get(id)?.epoch });
		expect(heard).toEqual([
			{ type: "cancel_requested", ...about(asked.id), reason: "enough" },
			{ type: "lease_lost", ...about(revoked.id), reason: "revoked" },
		]);
		expect(elsewhere).toEqual([]);
	});

	it("still hears when somebody said what nobody understands", async () => {
		const [one, two] = (await engines(2)) as [LocalBackend, LocalBackend];
		const { id } = await one.executions.create({ kind: "job" });
		await one.leases.claim(claim);
		const heard: WorkerNotice[] = [];
		one.leases.notices("i", (notice) => heard.push(notice));
		for (const text of ["nonsense", "null", "[]", '{"instanceId":"i"}']) two.engine.store.say?.(text);
		await two.executions.cancel(id);
		expect(heard).toMatchObject([{ type: "cancel_requested", executionId: id }]);
	});
});
