import { afterEach, describe, expect, it } from "vitest";
import { ErrandQueue } from "../../src/engine/duties/errand-queue.ts";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { slotOfId } from "../../src/kernel/ids.ts";
import { type LaneRecord, laneKey, slotOfLane } from "../../src/kernel/records/lane.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { HangingStore } from "./hanging-store.ts";

const PARTITIONS = 4;
const LANE = "media";
const HOME = slotOfLane("default", LANE) % PARTITIONS;
const SICK = (HOME + 1) % PARTITIONS;

describe("a lane is copied to partitions of which one hangs", () => {
	let backend: LocalBackend;
	let store: HangingStore;
	afterEach(async () => {
		store.wake();
		await backend.close();
	});

	async function open() {
		const clock = new VirtualClock();
		store = new HangingStore(PARTITIONS, clock.now, true);
		const engine = new Engine({ store, clock });
		// What waits for a partition that hangs is not going to settle.
		clock.watch(() => !store.isAwaited && !engine.idle);
		await engine.start();
		backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
		return clock;
	}

	/** Work under a lease in the partition where the lane has its home. */
	async function holdAtHome(leaseMs: number): Promise<string> {
		for (;;) {
			await backend.executions.create({ kind: "job" });
			const [claimed] = await backend.leases.claim({ workerId: "w", instanceId: "i", leaseMs });
			if (claimed && (slotOfId("ex", claimed.id) ?? 0) % PARTITIONS === HOME) return claimed.id;
		}
	}

	async function copyIn(partition: number): Promise<LaneRecord["state"] | undefined> {
		const { records } = await store.read(partition, [laneKey("default", LANE)]);
		return records[0]?.doc ? (JSON.parse(records[0].doc) as LaneRecord).state : undefined;
	}

	const rowOf = async (name: string) => (await backend.admin.scanners()).scanners.find((row) => row.name === name);

	it("and what is due beside its home is done in time", async () => {
		const clock = await open();
		const held = await holdAtHome(5000);
		store.hang([SICK]);
		const paused = backend.lanes.pause(LANE).catch((error: unknown) => error);
		let ms = 0;
		for (; ms < 60_000 && (await backend.executions.get(held)).reclaims === 0; ms += 50) await clock.advance(50);
		process.stdout.write(`a lease of 5 s ended after ${ms} ms\n`);
		expect(ms).toBeLessThanOrEqual(5100);
		await clock.advance(30_000 - ms);
		expect(await paused).toMatchObject({ code: "store_unavailable" });
	});

	it("and the others have it at once, and the home tries on until that one has it too", async () => {
		const clock = await open();
		store.hang([SICK]);
		const paused = backend.lanes.pause(LANE).catch(() => {});
		await clock.advance(100);
		const healthy = [0, 1, 2, 3].filter((partition) => partition !== SICK);
		expect(await Promise.all(healthy.map(copyIn))).toEqual(["paused", "paused", "paused"]);
		await clock.advance(40_000);
		await paused;
		store.wake();
		await clock.advance(61_000);
		expect(await copyIn(SICK)).toBe("paused");
		const before = store.calls.commit;
		await clock.advance(4000);
		// It has been confirmed: no partition is told again.
		expect((store.calls.commit ?? 0) - (before ?? 0)).toBeLessThanOrEqual(1);
	});

	it("and is parked for a minute after the third failure in a row, and counted", async () => {
		const clock = await open();
		store.hang([SICK]);
		void backend.lanes.pause(LANE).catch(() => {});
		// Each fails after 5 s, and begins again a second later.
		await clock.advance(20_000);
		expect(await rowOf("lane_copies")).toMatchObject({ errors: 3 });
		expect(await rowOf("due")).toMatchObject({ errors: 0, parked: 1 });
		await clock.advance(50_000);
		expect(await rowOf("lane_copies")).toMatchObject({ errors: 3 });
		await clock.advance(15_000);
		expect(await rowOf("lane_copies")).toMatchObject({ errors: 4 });
	});
});

describe("errands", () => {
	type Errand = { type: "slow"; name: string } | { type: "quick"; name: string };

	function queueOf() {
		const begun: string[] = [];
		const endings = new Map<string, { end(): void; fail(error: Error): void }>();
		const run = ({ name }: Errand) =>
			new Promise<void>((resolve, reject) => {
				begun.push(name);
				endings.set(name, { end: resolve, fail: reject });
			});
		const kind = { run, inFlight: 2, backlog: 2 };
		const queue = new ErrandQueue<Errand>({ slow: kind, quick: { ...kind, isDoneAgain: true } });
		const add = (name: string, type: Errand["type"] = "slow") => queue.add(name, { type, name });
		return { queue, begun, add, end: (name: string) => endings.get(name)?.end(), endings };
	}

	it("run so many at a time, then those that wait; what finds no place is dropped", async () => {
		const { queue, begun, add, end } = queueOf();
		const added = ["a", "b", "c", "d", "e"].map((name) => add(name));
		expect(begun).toEqual(["a", "b"]);
		expect(await added[4]).toBe("dropped");
		end("a");
		expect(await added[0]).toBe("done");
		expect(begun).toEqual(["a", "b", "c"]);
		for (const name of ["b", "c"]) end(name);
		await added[2];
		end("d");
		expect(await added[3]).toBe("done");
		expect(queue.idle).toBe(true);
	});

	it("of one type do not wait for those of another", async () => {
		const { begun, add } = queueOf();
		for (const name of ["a", "b", "c", "d", "e"]) void add(name);
		void add("f", "quick");
		expect(begun).toEqual(["a", "b", "f"]);
	});

	it("are under way for a subject once, and can be run again when that has failed", async () => {
		const { begun, add, endings } = queueOf();
		const first = add("a");
		expect(await add("a")).toBe("dropped");
		endings.get("a")?.fail(new Error("not now"));
		await expect(first).rejects.toThrow("not now");
		void add("a");
		expect(begun).toEqual(["a", "a"]);
	});

	it("of a kind that says so are run once more if they were asked for meanwhile, as they were last", async () => {
		const { queue, begun, endings } = queueOf();
		const [first, second, third] = ["1", "2", "3"].map((name) => queue.add("a", { type: "quick", name }));
		expect(begun).toEqual(["1"]);
		expect(await second).toBe("dropped");
		endings.get("1")?.fail(new Error("not now"));
		await expect(first).rejects.toThrow("not now");
		expect(begun).toEqual(["1", "3"]);
		endings.get("3")?.end();
		expect(await third).toBe("done");
		expect(queue.idle).toBe(true);
	});

	it("that wait are dropped when the queue closes", async () => {
		const { queue, begun, add } = queueOf();
		const added = ["a", "b", "c"].map((name) => add(name));
		queue.close();
		expect(await added[2]).toBe("dropped");
		expect(await add("d")).toBe("dropped");
		expect(begun).toEqual(["a", "b"]);
	});
});
