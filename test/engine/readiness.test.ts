import { describe, expect, it, onTestFinished } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { serveEngine } from "../../src/server/server.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { type Batch, StoreError } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** A store that takes no changes while it is full; one on a server lets what runs end. */
class FillingStore extends MemoryStore {
	refusal: StoreError | undefined;
	letsWorkEnd = false;
	commits = 0;

	override async commit(partition: number, batch: Batch) {
		this.commits += 1;
		if (this.refusal && (batch.startsWork || !this.letsWorkEnd)) throw this.refusal;
		return super.commit(partition, batch);
	}
}

const full = new StoreError("nothing was written: database or disk is full", { applied: "no" });

async function scene(partitions = 1) {
	const clock = new VirtualClock();
	const store = new FillingStore(partitions, clock.now);
	const engine = new Engine({ store, clock });
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	onTestFinished(() => backend.close());
	const create = () => backend.executions.create({ kind: "job" });
	return { clock, store, engine, backend, create, ready: () => backend.admin.ready() };
}

describe("readiness", () => {
	it("is not there while the store refuses changes, and says why", async () => {
		const { store, create, ready } = await scene();
		await ready();
		store.refusal = full;
		await expect(create()).rejects.toMatchObject({ code: "store_unavailable" });
		await expect(ready()).rejects.toMatchObject({
			code: "store_unavailable",
			status: 503,
			message: "the store refuses changes: nothing was written: database or disk is full",
		});
	});

	it("comes back without traffic, found out by a small write every two seconds at most", async () => {
		const { clock, store, create, ready } = await scene();
		store.refusal = full;
		await expect(create()).rejects.toThrow();
		await expect(ready()).rejects.toThrow();
		store.refusal = undefined;
		const before = store.commits;
		for (let n = 0; n < 5; n++) await expect(ready()).rejects.toThrow(/full/);
		expect(store.commits).toBe(before);
		await clock.advance(2000);
		await Promise.all([ready(), ready(), ready()]);
		expect(store.commits).toBe(before + 1);
		await clock.advance(2000);
		await ready();
		expect(store.commits).toBe(before + 1);
	});

	it("does not come back because work that runs may end", async () => {
		const { clock, store, backend, create, ready } = await scene();
		const { id } = await create();
		const [claimed] = await backend.leases.claim({ workerId: "w", instanceId: "i" });
		store.refusal = new StoreError("OOM command not allowed when used memory > 'maxmemory'.", { applied: "no" });
		store.letsWorkEnd = true;
		await expect(create()).rejects.toThrow();
		const fence = { leaseId: claimed?.lease.id ?? "", epoch: 1 };
		await backend.leases.complete(id, { fence });
		await clock.advance(5000);
		await expect(ready()).rejects.toThrow(/OOM/);
		store.refusal = undefined;
		await clock.advance(2000);
		await ready();
	});

	it("needs every partition that refused to take changes again", async () => {
		const { clock, store, create, ready } = await scene(4);
		store.refusal = full;
		for (let n = 0; n < 20; n++) await expect(create()).rejects.toThrow();
		await expect(ready()).rejects.toThrow(/full/);
		store.refusal = undefined;
		await clock.advance(2000);
		await ready();
	});

	it("does not tell strangers which file is damaged", async () => {
		const { store, create, ready } = await scene();
		store.refusal = new StoreError("/srv/secret/store.db is damaged", { applied: "no", code: "store_corrupt" });
		await expect(create()).rejects.toMatchObject({ code: "store_corrupt", message: expect.stringMatching(/secret/) });
		const told = await ready().catch((error) => error);
		expect(told).toMatchObject({ code: "store_corrupt", retryable: false });
		expect(told.message).not.toContain("secret");
	});

	it("is what /readyz answers", async () => {
		const { store, engine, backend, create } = await scene();
		const server = await serveEngine({ engine, backendFor: (caller) => backend.as(caller), port: 0, docs: false });
		onTestFinished(() => server.close());
		expect((await fetch(`${server.address}/readyz`)).status).toBe(200);
		store.refusal = full;
		await expect(create()).rejects.toThrow();
		const reply = await fetch(`${server.address}/readyz`);
		expect(reply.status).toBe(503);
		expect(await reply.json()).toMatchObject({
			error: { code: "store_unavailable", message: expect.stringContaining("disk is full") },
		});
		expect((await fetch(`${server.address}/healthz`)).status).toBe(200);
	});
});
