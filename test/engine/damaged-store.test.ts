import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { EVENT_LOG_KEY } from "../../src/kernel/records/event-log.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { type Batch, StoreError, UNREADABLE } from "../../src/store/port.ts";

/** Cannot read or write some of its records, as a file with a damaged page. */
class DamagedStore extends MemoryStore {
	readonly damaged = new Set<string>();

	override async read(partition: number, keys: readonly string[]) {
		const { time, records } = await super.read(partition, keys);
		const lost = { version: UNREADABLE, doc: "" };
		return { time, records: records.map((one) => (this.damaged.has(one.key) ? { ...one, ...lost } : one)) };
	}

	override async commit(partition: number, batch: Batch) {
		if (batch.units.some(({ put }) => put.some(({ key }) => this.damaged.has(key))))
			throw new StoreError("the file is damaged", { applied: "no", code: "store_corrupt" });
		const isKnown = ([key]: [string, number]) => !this.damaged.has(key);
		const units = batch.units.map((unit) => ({ ...unit, expected: unit.expected.filter(isKnown) }));
		return super.commit(partition, { ...batch, units });
	}
}

let store: DamagedStore;
let backend: LocalBackend;
beforeEach(async () => {
	store = new DamagedStore(1, () => Date.now());
	const engine = new Engine({ store, onFault: () => {} });
	await engine.start();
	backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
});
afterEach(() => backend.close());

it("what is committed together with a damaged record is committed without it", async () => {
	const created = await backend.executions.createMany(Array.from({ length: 20 }, () => ({ kind: "job" })));
	const ids = created.map(({ id = "" }) => id);
	const bad = new Set([ids[3], ids[11]] as string[]);
	for (const id of bad) store.damaged.add(id);
	// All at once: they share a batch, and what they change is still in memory.
	const cancelled = await Promise.allSettled(ids.map((id) => backend.executions.cancel(id)));
	for (const [n, { status }] of cancelled.entries())
		expect(status).toBe(bad.has(ids[n] as string) ? "rejected" : "fulfilled");
	for (const id of ids)
		if (!bad.has(id)) expect(await backend.executions.get(id)).toMatchObject({ publicState: "cancelled" });
});

it.each(["as the engine has it in memory", "as nobody can read it"])(
	"what is due is done though the record that writes are tried on is damaged, %s",
	async (how) => {
		const { id } = await backend.executions.create({ kind: "job", delayMs: 300 });
		const bad = await backend.executions.create({ kind: "job" });
		if (how === "as the engine has it in memory") await backend.engine.runner(0).run({ op: "noteTrim", before: 0 });
		store.damaged.add(bad.id).add(EVENT_LOG_KEY);
		await expect(backend.executions.cancel(bad.id)).rejects.toMatchObject({ code: "store_corrupt" });
		await vi.waitFor(async () => expect(await backend.executions.get(id)).toMatchObject({ publicState: "waiting" }), {
			timeout: 10_000,
		});
	},
);

it("a damaged record is refused by its key, and lists and claims go past it", async () => {
	const created = await backend.executions.createMany(Array.from({ length: 5 }, () => ({ kind: "job" })));
	const [bad = "", ...sound] = created.map(({ id = "" }) => id);
	store.damaged.add(bad);
	const details = { key: bad, problem: "cannot be read from the store, which is damaged there" };
	await expect(backend.executions.get(bad)).rejects.toMatchObject({ code: "corrupt_record", details });
	const { executions } = await backend.executions.list();
	expect(executions.map(({ id }) => id).sort()).toEqual(sound.sort());
	// A claim that had it in memory may be refused once; the next knows.
	const claim = () => backend.leases.claim({ workerId: "w", instanceId: "i", max: 5 });
	const claimed = await claim().catch(claim);
	expect(claimed.map(({ id }) => id).sort()).toEqual(sound.sort());
});
