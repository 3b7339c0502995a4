import { describe, expect, it } from "vitest";
import type { ClaimedExecution } from "../../src/contract/replies.ts";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { type Batch, StoreError } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** A store that will not commit until told so, as while a slot moves or another server takes over. */
class WaitingStore extends MemoryStore {
	refusal: StoreError | undefined;
	sent = 0;

	override async commit(partition: number, batch: Batch) {
		this.sent += 1;
		if (this.refusal) throw this.refusal;
		return super.commit(partition, batch);
	}
}

async function scene(refusal: StoreError) {
	const clock = new VirtualClock();
	const store = new WaitingStore(1, clock.now);
	const engine = new Engine({ store, clock });
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	store.refusal = refusal;
	let answer: unknown;
	const create = backend.executions.create({ kind: "job" });
	const answered = create.then(
		({ publicState }) => (answer = publicState),
		(error: unknown) => (answer = error),
	);
	await clock.settle();
	return { clock, store, backend, answered, answer: () => answer };
}

describe("a commit that the store cannot make now", () => {
	const passing = new StoreError("TRYAGAIN", { applied: "no", passing: true });

	it("is waited for, and its caller is told of nothing", async () => {
		const { clock, store, answer } = await scene(passing);
		await clock.advance(20_000);
		expect(answer()).toBeUndefined();
		expect(store.sent).toBeGreaterThan(5);
		store.refusal = undefined;
		await clock.advance(2000);
		expect(answer()).toBe("waiting");
	});

	it("is given up after 28 seconds, before a server says that time is over, and never made later", async () => {
		const { clock, store, backend, answer } = await scene(passing);
		await clock.advance(27_990);
		expect(answer()).toBeUndefined();
		await clock.advance(10);
		expect(answer()).toMatchObject({ code: "store_unavailable", retryable: true, details: { applied: "unknown" } });
		store.refusal = undefined;
		await clock.advance(10_000);
		expect((await backend.executions.list({})).executions).toEqual([]);
	});

	it("may have been made once no answer came: it is asked about until the store tells, and not made after that", async () => {
		const { clock, store, backend, answer } = await scene(new StoreError("cut off", { applied: "unknown" }));
		await clock.settle();
		store.refusal = passing;
		await clock.advance(40_000);
		expect(answer()).toMatchObject({ code: "store_unavailable" });
		const { sent } = store;
		await clock.advance(10_000);
		expect(store.sent).toBeGreaterThan(sent);
		store.refusal = undefined;
		await clock.advance(10_000);
		expect((await backend.executions.list({})).executions).toEqual([]);
		expect(await backend.executions.create({ kind: "job" })).toMatchObject({ created: true });
	});

	it("is refused at once when waiting will not help", async () => {
		const { answered, answer } = await scene(new StoreError("OOM", { applied: "no" }));
		await answered;
		expect(answer()).toMatchObject({ code: "store_unavailable" });
	});

	it("is refused for good when a later version has taken the store over", async () => {
		const { answered, answer } = await scene(new StoreError("upgraded", { applied: "no", code: "store_too_new" }));
		await answered;
		expect(answer()).toMatchObject({ code: "store_too_new", retryable: false });
	});
});

/** Takes nothing that starts work, and may lose answers. */
class FullStore extends MemoryStore {
	full = false;
	losesAnswer = false;

	override async commit(partition: number, batch: Batch) {
		if (this.full && batch.startsWork) throw new StoreError("OOM", { applied: "no" });
		const reply = await super.commit(partition, batch);
		if (!this.losesAnswer) return reply;
		this.losesAnswer = false;
		throw new StoreError("cut off", { applied: "unknown" });
	}
}

describe("a store that is full", () => {
	async function fullScene() {
		const clock = new VirtualClock();
		const store = new FullStore(1, clock.now);
		const faults: string[] = [];
		const engine = new Engine({ store, clock, onFault: ({ about, error }) => faults.push(`${about}: ${error}`) });
		await engine.start();
		const { executions, leases } = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
		const create = () => executions.create({ kind: "job" });
		const claim = async () => {
			const [execution] = await leases.claim({ workerId: "w", instanceId: "i" });
			const { id, lease } = execution as ClaimedExecution;
			return { id, fence: { leaseId: lease.id, epoch: lease.epoch } };
		};
		return { clock, store, faults, executions, leases, create, claim };
	}
	const refused = { code: "store_unavailable" };

	it("lets what runs end, what has ended go and what waits be cancelled, and starts nothing", async () => {
		const { store, executions, leases, create, claim } = await fullScene();
		await executions.createMany([{ kind: "job" }, { kind: "job" }]);
		const [one, two] = [await claim(), await claim()];
		const { id: waiting } = await create();
		store.full = true;
		// All in one batch.
		const [submitted, claimed, completed, renewed, cancelled] = await Promise.allSettled([
			create(),
			claim(),
			leases.complete(one.id, { fence: one.fence }),
			leases.renew({ leases: [{ executionId: two.id, ...two.fence }] }),
			executions.cancel(waiting),
		]);
		expect(submitted).toMatchObject({ status: "rejected", reason: refused });
		expect(claimed).toMatchObject({ status: "rejected", reason: refused });
		expect(completed.status).toBe("fulfilled");
		expect(renewed.status).toBe("fulfilled");
		expect(cancelled.status).toBe("fulfilled");
		await executions.delete(one.id);
		store.full = false;
		expect(await create()).toMatchObject({ publicState: "waiting" });
		const { executions: left } = await executions.list({});
		expect(left.map(({ publicState }) => publicState).sort()).toEqual(["active", "cancelled", "waiting"]);
	});

	it("is told of once a minute, with the store's own words", async () => {
		const { clock, store, faults, create } = await fullScene();
		store.full = true;
		for (let n = 0; n < 10; n++) await expect(create()).rejects.toMatchObject(refused);
		expect(faults).toEqual([expect.stringMatching(/^the store refuses changes: .*OOM/)]);
		await clock.advance(60_000);
		await expect(create()).rejects.toMatchObject(refused);
		expect(faults).toHaveLength(2);
	});

	it("still tells what became of a commit whose answer was lost before", async () => {
		const { clock, store, executions, create } = await fullScene();
		store.losesAnswer = true;
		const created = create();
		await clock.settle();
		store.full = true;
		await clock.advance(5000);
		expect(await created).toMatchObject({ publicState: "waiting" });
		expect((await executions.list({})).executions).toHaveLength(1);
	});
});
