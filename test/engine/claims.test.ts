import { afterEach, describe, expect, it, vi } from "vitest";
import type { ExecutionCalls } from "../../src/contract/backend.ts";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import type { PartitionRunner } from "../../src/engine/partition/partition-runner.ts";
import { slotOfId } from "../../src/kernel/ids.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { type Notice, StoreError } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const clock = new VirtualClock();
let engine: Engine | undefined;
afterEach(() => engine?.close());

/** A store some of whose partitions do not answer, and whose notices may get lost. */
class Trouble extends MemoryStore {
	readonly down = new Set<number>();
	/** Partitions that refuse commits, for good. */
	readonly readOnly = new Set<number>();
	/** Partitions that answer a commit only after the release. */
	readonly silent = new Set<number>();
	isSilent = false;
	noBlobs = false;
	lostBlobs = false;
	deaf = false;
	asked = 0;
	readonly #listeners: ((notice: Notice) => void)[] = [];
	#held: Promise<void> = Promise.resolve();

	override async queues(partition: number, prefix: string) {
		this.asked += 1;
		this.#refuse(partition);
		const answer = await super.queues(partition, prefix);
		await this.#held;
		return answer;
	}

	/** Which queues there are is told as it is when asked, but only after the release. */
	holdAnswers(): { release(): void } {
		let release = () => {};
		this.#held = new Promise((resolve) => (release = resolve));
		return { release };
	}

	override async first(...question: Parameters<MemoryStore["first"]>) {
		this.#refuse(question[0]);
		return super.first(...question);
	}

	override async commit(...given: Parameters<MemoryStore["commit"]>) {
		if (this.silent.has(given[0])) {
			this.isSilent = true;
			await this.#held;
			this.isSilent = false;
		}
		if (this.readOnly.has(given[0])) throw new StoreError("may not be written", { applied: "no", passing: false });
		return super.commit(...given);
	}

	override async readBlobs(...given: Parameters<MemoryStore["readBlobs"]>) {
		if (this.noBlobs) throw new StoreError("cannot be read", { applied: "no", passing: false });
		const { time, blobs } = await super.readBlobs(...given);
		return { time, blobs: this.lostBlobs ? blobs.map(() => undefined) : blobs };
	}

	override onNotice(listener: (notice: Notice) => void): void {
		this.#listeners.push(listener);
		super.onNotice((notice) => this.deaf || listener(notice));
	}

	/** The connection is back; what happened meanwhile is not known. */
	reconnect(): void {
		this.deaf = false;
		for (let partition = 0; partition < this.partitions; partition++) {
			for (const tell of this.#listeners) tell({ partition, queues: [], changed: [], gap: true });
		}
	}

	#refuse(partition: number): void {
		if (this.down.has(partition)) throw new StoreError(`partition ${partition} does not answer`, { applied: "no" });
	}
}

async function start(partitions: number) {
	const store = new Trouble(partitions, clock.now, true);
	const faults: string[] = [];
	const started = new Engine({ store, clock, onFault: ({ about }) => faults.push(about) });
	engine = started;
	clock.watch(() => !started.idle && !store.isSilent);
	await started.start();
	const { executions, leases } = new LocalBackend({ engine: started, actor: "test", retentionMs: 0 });
	const claim = (waitMs = 0, max = 1) => leases.claim({ workerId: "w", instanceId: "i", max, waitMs });
	return { store, faults, executions, leases, claim };
}

/** Work written past the engine, as by one on another machine. */
async function createElsewhere(store: MemoryStore): Promise<{ id: string; partition: number }> {
	const other = new Engine({ store, clock });
	await Promise.all(other.runners.map((runner) => runner.greet()));
	const { id } = await new LocalBackend({ engine: other, actor: "test", retentionMs: 0 }).executions.create({
		kind: "job",
	});
	return { id, partition: (slotOfId("ex", id) ?? 0) % store.partitions };
}

describe("a partition that cannot be read", () => {
	it("is passed over, and told of once", async () => {
		const { store, faults, executions, claim } = await start(4);
		const made = await executions.createMany(
			Array.from({ length: 20 }, (_, n) => ({ kind: "job", idempotencyKey: `key ${n}` })),
		);
		const partitions = made.map(({ id }) => (slotOfId("ex", id as string) ?? 0) % 4);
		store.down.add(partitions[0] as number);
		store.down.add((partitions[0] as number) ^ 1);
		for (const runner of engine?.runners ?? []) runner.heads.forgetAll();
		const reachable = made.filter((_, n) => !store.down.has(partitions[n] as number)).map(({ id }) => id);
		const claimed = (await claim(0, 100)).map(({ id }) => id);
		expect(reachable.length).toBeGreaterThan(0);
		expect(claimed.sort()).toEqual(reachable.sort());
		await claim();
		await claim();
		expect(faults).toEqual(["partitions that cannot be read are skipped"]);
	});

	it("is counted by the claim that passed it over", async () => {
		const { store, leases } = await start(4);
		store.down.add(1);
		const figures: unknown[] = [];
		const onSearched = (one: unknown) => void figures.push(one);
		await leases.claim({ workerId: "w", instanceId: "i" }, undefined, { onSearched });
		expect(figures).toEqual([{ probed: 4, skipped: 1 }]);
	});

	it("is looked at again by itself, so that whoever waits gets its work", async () => {
		const { store, claim } = await start(4);
		store.deaf = true;
		const { id, partition } = await createElsewhere(store);
		store.down.add(partition);
		store.reconnect();
		const waiting = claim(30_000);
		await clock.advance(5000);
		store.down.delete(partition);
		await clock.advance(5000);
		expect((await waiting).map((execution) => execution.id)).toEqual([id]);
	});

	it("fails the call only if no other could be read", async () => {
		const { store, executions, claim } = await start(4);
		await executions.create({ kind: "job" });
		for (const partition of [0, 1, 2, 3]) store.down.add(partition);
		for (const runner of engine?.runners ?? []) runner.heads.forgetAll();
		await expect(claim()).rejects.toMatchObject({ code: "store_unavailable", retryable: true });
		store.down.delete(2);
		await claim();
	});
});

/** Work of a lane that lies in one of two partitions. */
async function createIn(executions: ExecutionCalls, partition: number, lane: string): Promise<string> {
	for (;;) {
		const { id } = await executions.create({ kind: "job", lane });
		if ((slotOfId("ex", id) ?? 0) % 2 === partition) return id;
		await executions.cancel(id);
	}
}

describe("a claim that has taken something", () => {
	const who = { workerId: "w", instanceId: "i", max: 8 };

	it("brings it although what comes behind fails", async () => {
		const { store, executions, leases } = await start(2);
		const id = await createIn(executions, 0, "first");
		await createIn(executions, 1, "second");
		store.readOnly.add(1);
		const taken = await leases.claim({ ...who, lanes: ["first", "second"] });
		expect(taken.map((execution) => execution.id)).toEqual([id]);
		store.readOnly.clear();
	});

	it.each([
		["of the same lane", ["first", "first"]],
		["of another lane", ["first", "second"]],
	])(
		"does not wait for a partition that has stopped to answer, %s, and gives back what comes late",
		async (_, lanes) => {
			const { store, executions, leases } = await start(2);
			const made = [
				await createIn(executions, 0, lanes[0] as string),
				await createIn(executions, 1, lanes[1] as string),
			];
			store.silent.add(1);
			const silence = store.holdAnswers();
			const claiming = leases.claim({ ...who, lanes: [...new Set(lanes)] });
			await clock.advance(1000);
			expect((await claiming).map(({ id }) => id)).toEqual([made[0]]);
			silence.release();
			await clock.settle();
			expect(await executions.get(made[1] as string)).toMatchObject({ publicState: "waiting", reclaims: 0 });
			expect((await leases.claim({ ...who, lanes })).map(({ id }) => id)).toEqual([made[1]]);
		},
	);

	it("asks once, and once more, for what no longer fits beside it", async () => {
		const { executions, leases } = await start(1);
		const input = "x".repeat(900_000);
		await executions.createMany(Array.from({ length: 4 }, () => ({ kind: "job", lane: "first", input })));
		await executions.create({ kind: "job", lane: "second", input });
		const run = vi.spyOn(engine?.runners[0] as PartitionRunner, "run");
		expect(await leases.claim({ ...who, lanes: ["first", "second"] })).toHaveLength(4);
		const lanes = run.mock.calls.map(([command]) => (command as { lane?: string }).lane);
		expect(lanes.filter((lane) => lane === "second")).toHaveLength(2);
	});

	it("gives back what cannot be read, which is no reclaim", async () => {
		const { store, executions, leases } = await start(1);
		const large = await executions.create({ kind: "job", input: "x".repeat(200_000) });
		const small = await executions.create({ kind: "job", input: 1 });
		store.noBlobs = true;
		expect((await leases.claim(who)).map(({ id }) => id)).toEqual([small.id]);
		await expect(leases.claim(who)).rejects.toMatchObject({ code: "store_unavailable" });
		store.noBlobs = false;
		expect(await executions.get(large.id)).toMatchObject({ publicState: "waiting", reclaims: 0 });
		expect((await leases.claim(who)).map(({ id }) => id)).toEqual([large.id]);
	});
});

it("work whose input is lost hides nothing behind it", async () => {
	const { store, executions, claim } = await start(1);
	await executions.create({ kind: "job", input: "x".repeat(200_000) });
	const { id } = await executions.create({ kind: "job", input: 1 });
	store.lostBlobs = true;
	await expect(claim()).rejects.toMatchObject({ retryable: false });
	expect((await claim()).map((execution) => execution.id)).toEqual([id]);
});

describe("a claim that does not wait", () => {
	it("gets what another engine has stored, although nobody told of it yet", async () => {
		const { store, claim } = await start(4);
		store.deaf = true;
		const { id } = await createElsewhere(store);
		expect((await claim()).map((execution) => execution.id)).toEqual([id]);
	});

	it("is not sent away by an answer that is older than what it asks for", async () => {
		const { store, claim } = await start(1);
		store.deaf = true;
		const slow = store.holdAnswers();
		const first = claim();
		await clock.settle();
		const { id } = await createElsewhere(store);
		const second = claim();
		slow.release();
		const taken = [...(await first), ...(await second)];
		expect(taken.map((execution) => execution.id)).toEqual([id]);
	});

	it("asks together with others that came while an answer was on its way", async () => {
		const { store, claim } = await start(4);
		store.asked = 0;
		const slow = store.holdAnswers();
		const claims = [claim()];
		await clock.settle();
		for (let n = 0; n < 10; n++) claims.push(claim());
		slow.release();
		await Promise.all(claims);
		expect(store.asked).toBe(8);
	});
});

describe("a claim that waits", () => {
	it("is woken by work that was there when its engine began to hear again", async () => {
		const { store, claim } = await start(4);
		const waiting = claim(30_000);
		await clock.settle();
		store.deaf = true;
		const { id } = await createElsewhere(store);
		await clock.advance(1000);
		store.reconnect();
		expect((await waiting).map((execution) => execution.id)).toEqual([id]);
	});

	it("asks nothing that another claim has asked", async () => {
		const { store, claim } = await start(100);
		store.asked = 0;
		const waiting = [claim(1000), claim(1000), claim(1000)];
		await clock.advance(1000);
		await Promise.all(waiting);
		expect(store.asked).toBe(0);
	});
});
