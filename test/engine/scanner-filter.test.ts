import { afterEach, describe, expect, it } from "vitest";
import type { CreateRequest, PublicState } from "../../src/index.ts";
import type { ScannerFilter } from "../../src/kernel/scanner-filter.ts";
import { unitOf } from "../../src/store/port.ts";
import { EngineGroup, type Member } from "./engine-group.ts";

const SWEEP_MS = 300_000;
const PARTITIONS = 4;
let group: EngineGroup;
afterEach(() => group.close());

const namespaces = (...names: string[]): ScannerFilter => ({ namespaces: names, tags: [] });
const tagged = (key: string, value: string): ScannerFilter => ({ namespaces: [], tags: [[key, value]] });

const start = (name: string, scannerFilter?: ScannerFilter): Promise<Member> =>
	group.start(name, scannerFilter ? { scannerFilter } : {});

async function begin(scannerFilter: ScannerFilter, partitions = PARTITIONS): Promise<Member> {
	group = new EngineGroup(partitions);
	return start("one", scannerFilter);
}

/** Some of these in every partition. */
async function create({ backend }: Member, request: Partial<CreateRequest>, count = 24): Promise<string[]> {
	const items = Array.from({ length: count }, (_, n) => ({ kind: "job", idempotencyKey: `key ${n}`, ...request }));
	const made = await backend.executions.createMany(items);
	return made.map((item) => ("id" in item && item.id) || "");
}

async function statesOf({ backend }: Member, ids: readonly string[]): Promise<PublicState[]> {
	const read = await Promise.all(ids.map((id) => backend.executions.get(id)));
	return [...new Set(read.map(({ publicState }) => publicState))];
}

const rowOf = async ({ backend }: Member, row: string) =>
	(await backend.admin.scanners()).scanners.find(({ name }) => name === row);

describe("scanners restricted to namespaces", () => {
	it("do what is due in these and leave the rest to an engine that minds it", async () => {
		const one = await begin(namespaces("a", "b"));
		const ours = await create(one, { namespace: "b", delayMs: 1000 });
		const others = await create(one, { namespace: "c", delayMs: 500 });
		await group.clock.advance(1001);
		expect(await statesOf(one, ours)).toEqual(["waiting"]);
		await group.clock.advance(10 * SWEEP_MS);
		expect(await statesOf(one, others)).toEqual(["delayed"]);
		const two = await start("two");
		await group.clock.advance(1);
		expect(await statesOf(two, others)).toEqual(["waiting"]);
		expect((await rowOf(one, "delayed_promoter"))?.items).toBe(ours.length);
	});

	it("leave the leases, keys and workers of others too", async () => {
		const one = await begin(namespaces("a"));
		const claim = { workerId: "w", instanceId: "i", leaseMs: 1000, requestId: "r" };
		for (const namespace of ["a", "b"]) {
			await create(one, { namespace, idempotencyKey: "k", policy: { dedupWindowMs: 60_000 } }, 1);
			expect(await one.backend.leases.claim({ ...claim, namespace })).toHaveLength(1);
			await one.backend.workers.register("gone", {
				workerId: "w",
				namespace,
				lanes: ["x"],
				capabilities: [],
				ttlMs: 1000,
			});
		}
		await group.clock.advance(120_000);
		const left = (await allKeys()).filter(
			(key) => !key.startsWith("ex_") && !["engines", "keyring", "cursors"].includes(key),
		);
		expect(left.sort()).toEqual(["claim:b:1:i:r", "key:b:k", "worker:b:gone"]);
		const { executions } = await one.backend.executions.list({ namespace: "b" });
		expect(executions[0]).toMatchObject({ publicState: "active", state: { ownershipState: "lease_expired" } });
		expect((await one.backend.executions.list({ namespace: "a" })).executions[0]?.publicState).toBe("waiting");
	});

	it("are not held up by what others have left undone, however much it is", async () => {
		const one = await begin(namespaces("a"), 1);
		const others = await create(one, { namespace: "b", delayMs: 100 }, 700);
		await group.clock.advance(60_000);
		const ours = await create(one, { namespace: "a", delayMs: 1000 }, 3);
		await group.clock.advance(1001);
		expect(await statesOf(one, ours)).toEqual(["waiting"]);
		expect(await statesOf(one, others)).toEqual(["delayed"]);
	});

	it("come in time wherever the work lies, with each engine minding another namespace", async () => {
		const one = await begin(namespaces("a"));
		const two = await start("two", namespaces("b"));
		await group.meet();
		const [ofA, ofB] = [
			await create(one, { namespace: "a", delayMs: 1000 }),
			await create(one, { namespace: "b", delayMs: 1000 }),
		];
		await group.clock.advance(1050);
		expect([await statesOf(one, ofA), await statesOf(one, ofB)]).toEqual([["waiting"], ["waiting"]]);
		const done = await Promise.all([one, two].map(async (each) => (await rowOf(each, "delayed_promoter"))?.items));
		expect(done).toEqual([ofA.length, ofB.length]);
	});

	it("share out among engines with the same restriction", async () => {
		const one = await begin(namespaces("a", "b"));
		const two = await start("two", namespaces("b", "a"));
		await group.meet();
		expect([one.engine.share.partitions, two.engine.share.partitions]).toEqual([PARTITIONS / 2, PARTITIONS / 2]);
		const three = await start("three");
		await group.meet();
		expect(three.engine.share).toEqual({ engines: 3, partitions: PARTITIONS });
	});

	it("release work for workers that came only in these, and mend only their index", async () => {
		const one = await begin(namespaces("a"));
		const ids = new Map<string, string>();
		for (const namespace of ["a", "b"]) {
			const [id = ""] = await create(one, { namespace, requiredCapabilities: ["gpu"] }, 1);
			ids.set(namespace, id);
			await one.backend.leases.claim({ workerId: "w", instanceId: "i", namespace });
		}
		await group.clock.settle();
		await arriveUnheard(["a", "b"]);
		await loseListEntries();
		await group.clock.advance(SWEEP_MS + 2000);
		const reasonOf = async (namespace: string) =>
			(await one.backend.executions.get(ids.get(namespace) ?? "")).state.blockingReason;
		expect(await reasonOf("a")).toBe("waiting_for_worker");
		expect(await reasonOf("b")).toBe("waiting_for_capable_worker");
		expect((await one.backend.executions.list({ namespace: "a" })).executions).toHaveLength(1);
		expect((await one.backend.executions.list({ namespace: "b" })).executions).toHaveLength(0);
	});
});

describe("scanners restricted to tags", () => {
	it("act only on executions that carry one", async () => {
		const one = await begin(tagged("team", "x"));
		const ours = await create(one, { tags: { team: "x" }, idempotencyKey: "", delayMs: 1000 }, 5);
		const others = await create(one, { tags: { team: "y" }, idempotencyKey: "", delayMs: 1000 }, 5);
		await group.clock.advance(2000);
		expect([await statesOf(one, ours), await statesOf(one, others)]).toEqual([["waiting"], ["delayed"]]);
		const [first = ""] = others;
		await one.backend.executions.setTags(first, { set: { team: "x" } });
		await group.clock.advance(61_000);
		expect(await statesOf(one, [first])).toEqual(["waiting"]);
		expect((await one.backend.admin.scanners()).restrictedTo).toEqual({ tags: ["team:x"] });
	});

	it("release what they may although much that they may not stands before it", async () => {
		const one = await begin(tagged("team", "x"), 1);
		const request = { requiredCapabilities: ["gpu"], idempotencyKey: "" };
		const others = await create(one, request, 250);
		const ours = await create(one, { ...request, tags: { team: "x" } }, 1);
		await one.backend.leases.claim({ workerId: "w", instanceId: "i" });
		await group.clock.settle();
		await arriveUnheard(["default"]);
		await group.clock.advance(SWEEP_MS + 2000);
		const blocked = async (ids: string[]) =>
			(await Promise.all(ids.map((id) => one.backend.executions.get(id)))).filter(
				({ state }) => state.eligibilityState === "blocked_by_route",
			).length;
		expect([await blocked(ours), await blocked(others)]).toEqual([0, 250]);
	});
});

async function allKeys(): Promise<string[]> {
	const pages = await Promise.all(
		Array.from({ length: group.store.partitions }, (_, partition) => group.store.scan(partition, undefined, 1000)),
	);
	return pages.flatMap(({ records }) => records.map(({ key }) => key));
}

/** A worker with what was lacking, of whom no engine has heard. */
async function arriveUnheard(names: string[]): Promise<void> {
	const deaf = await start("deaf", namespaces("nobody"));
	deaf.engine.routes.released = async () => {};
	for (const namespace of names) {
		const offer = { workerId: "w", namespace, lanes: ["default"], capabilities: ["gpu"], ttlMs: 3_600_000 };
		await deaf.backend.workers.register("able", offer);
	}
	await deaf.engine.close();
	group.forget(deaf);
}

async function loseListEntries(): Promise<void> {
	for (let partition = 0; partition < group.store.partitions; partition++) {
		const { queues } = await group.store.queues(partition, "list,");
		for (const queue of queues) {
			const { entries, time } = await group.store.first(partition, queue, 1000);
			const units = [unitOf({ indexRemoved: entries.map((entry) => ({ queue, ...entry })) })];
			await group.store.commit(partition, { engine: "hand", number: ++commits, at: time, units });
		}
	}
}
let commits = 0;
