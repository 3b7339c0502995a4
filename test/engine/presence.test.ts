import { afterEach, describe, expect, it } from "vitest";
import { slotOfId } from "../../src/kernel/ids.ts";
import { StoreError } from "../../src/store/port.ts";
import { EngineGroup, type Member } from "./engine-group.ts";

const PARTITIONS = 8;
let group: EngineGroup;
afterEach(() => group.close());

/** Delayed work in every partition, made by one engine. */
async function delayEverywhere({ backend }: Member, delayMs: number): Promise<string[]> {
	const ids: string[] = [];
	const partitions = new Set<number>();
	while (partitions.size < PARTITIONS) {
		const { id } = await backend.executions.create({ kind: "job", delayMs, idempotencyKey: `key ${ids.length}` });
		ids.push(id);
		partitions.add((slotOfId("ex", id) ?? 0) % PARTITIONS);
	}
	return ids;
}

const statesOf = async ({ backend }: Member, ids: string[]) =>
	Promise.all(ids.map(async (id) => (await backend.executions.get(id)).publicState));

/** How many things that were due an engine has done. */
const doneBy = async ({ backend }: Member): Promise<number> =>
	(await backend.admin.scanners()).scanners.find(({ name }) => name === "due")?.items ?? 0;

describe("engines on one store", () => {
	it("share out what is due, and each thing is done by one of them", async () => {
		group = new EngineGroup(PARTITIONS);
		const [one, two] = [await group.start("one"), await group.start("two")];
		await group.meet();
		const ids = await delayEverywhere(one, 5000);
		await group.clock.advance(5001);
		expect(new Set(await statesOf(two, ids))).toEqual(new Set(["waiting"]));
		const [byOne, byTwo] = [await doneBy(one), await doneBy(two)];
		expect(byOne + byTwo).toBe(ids.length);
		expect(byOne).toBeGreaterThanOrEqual(PARTITIONS / 2);
		expect(byTwo).toBeGreaterThanOrEqual(PARTITIONS / 2);
	});

	it("take over within 3 seconds from one that died", async () => {
		group = new EngineGroup(PARTITIONS);
		const [one, two] = [await group.start("one"), await group.start("two")];
		await group.meet();
		const ids = await delayEverywhere(one, 100);
		one.die();
		await group.clock.advance(3000);
		expect(new Set(await statesOf(two, ids))).toEqual(new Set(["waiting"]));
	});

	it("take over within a second from one that closed", async () => {
		group = new EngineGroup(PARTITIONS);
		const [one, two] = [await group.start("one"), await group.start("two")];
		await group.meet();
		const ids = await delayEverywhere(one, 100);
		await one.engine.close();
		group.forget(one);
		await group.clock.advance(1001);
		expect(new Set(await statesOf(two, ids))).toEqual(new Set(["waiting"]));
	});

	it("do what another has left undone although it lives, when a notice was lost", async () => {
		group = new EngineGroup(PARTITIONS);
		const [one, two] = [await group.start("one"), await group.start("two")];
		await group.meet();
		two.isDeaf = true;
		const ids = await delayEverywhere(one, 100);
		await group.clock.advance(9000);
		expect(new Set(await statesOf(one, ids))).toEqual(new Set(["waiting"]));
	});

	it("go on beating whatever became of a beat", async () => {
		group = new EngineGroup(PARTITIONS);
		const faults: string[] = [];
		const [one, two] = [
			await group.start("one", { onFault: ({ about }) => faults.push(about) }),
			await group.start("two"),
		];
		await group.meet();
		const { commit } = group.store;
		group.store.commit = async (partition, batch) => {
			if (batch.engine === "one") throw new StoreError("nobody there", { applied: "no" });
			return commit.call(group.store, partition, batch);
		};
		await group.clock.advance(10_000);
		expect(faults).toEqual([
			"the store refuses changes",
			"this engine could not announce itself to the others",
			"due items could not be seen to",
		]);
		const ids = await delayEverywhere(two, 100);
		await group.clock.advance(101);
		expect(new Set(await statesOf(two, ids))).toEqual(new Set(["waiting"]));
		group.store.commit = commit;
		await group.meet();
		expect(await enginesIn(group)).toEqual(["one", "two"]);
		expect(one.engine.closed).toBe(false);
	});

	it("say that they are there once a second each; one alone every five", async () => {
		group = new EngineGroup(PARTITIONS);
		const one = await group.start("one");
		await group.clock.advance(20_000);
		const alone = one.calls.commit ?? 0;
		await group.clock.advance(60_000);
		expect((one.calls.commit ?? 0) - alone).toBe(12);
		await group.start("two");
		await group.meet();
		const together = one.calls.commit ?? 0;
		await group.clock.advance(60_000);
		// The record both write has changed each time: the store hands it back, and the second try stands.
		expect((one.calls.commit ?? 0) - together).toBe(120);
	});
});

describe("a worker that registered with one engine", () => {
	it("is kept in the registry by the claims it makes at another, and lapses when it makes none", async () => {
		group = new EngineGroup(PARTITIONS);
		const [one, two] = [await group.start("one"), await group.start("two")];
		await group.meet();
		await one.backend.workers.register("w-1", { workerId: "w", capabilities: [], lanes: ["default"] });
		const present = async () => (await one.backend.workers.list()).workers.length;
		for (let n = 0; n < 4; n++) {
			const waiting = two.backend.leases.claim({ workerId: "w", instanceId: "w-1", waitMs: 30_000 });
			await group.clock.advance(30_000);
			await waiting;
			expect(await present()).toBe(1);
		}
		await group.clock.advance(31_000);
		expect(await present()).toBe(0);
	});
});

const enginesIn = async ({ store }: EngineGroup): Promise<string[]> => {
	const { records } = await store.read(0, ["engines"]);
	return Object.keys((JSON.parse(records[0]?.doc ?? "{}") as { engines: object }).engines).sort();
};
