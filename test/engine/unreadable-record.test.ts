import { expect, test } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import type { Fault } from "../../src/engine/fault-log.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { unitOf } from "../../src/store/port.ts";

/** A backend on a store in which one of two executions was damaged by somebody's hand. */
async function damaged(doc: (doc: string) => string) {
	const store = new MemoryStore(1, () => Date.now());
	const before = new LocalBackend({ engine: new Engine({ store }), actor: "test", retentionMs: 0 });
	await before.engine.start();
	const { id } = await before.executions.create({ kind: "work" });
	const { id: sound } = await before.executions.create({ kind: "work" });
	const [stored] = (await store.read(0, [id])).records;
	if (!stored) throw new Error("it was stored a moment ago");
	const unit = unitOf({ expected: [[id, stored.version]], put: [{ key: id, doc: doc(stored.doc) }] });
	const { results } = await store.commit(0, { engine: "hand", number: 1, at: Date.now(), units: [unit] });
	expect(results).toEqual([{ ok: true }]);
	const faults: Fault[] = [];
	const engine = new Engine({ store, onFault: (fault) => faults.push(fault) });
	await engine.start();
	return { backend: new LocalBackend({ engine, actor: "test", retentionMs: 0 }), id, sound, faults };
}

const withEpoch = (doc: string) => JSON.stringify({ ...JSON.parse(doc), epoch: "seven" });

test("reading it is refused by the name of the field that is wrong", async () => {
	const { backend, id } = await damaged(withEpoch);
	const refusal = { code: "corrupt_record", details: { key: id, field: "epoch" } };
	await expect(backend.executions.get(id)).rejects.toMatchObject(refusal);
	await expect(backend.executions.cancel(id)).rejects.toMatchObject(refusal);
	await backend.close();
});

test("a document that is no record is refused as a whole", async () => {
	const { backend, id } = await damaged((doc) => doc.slice(0, 20));
	await expect(backend.executions.get(id)).rejects.toMatchObject({
		code: "corrupt_record",
		details: { key: id, field: "", problem: "is not a JSON object" },
	});
	await backend.close();
});

test("lists and claims go past it and tell of it", async () => {
	const { backend, id, sound, faults } = await damaged(withEpoch);
	expect((await backend.executions.list()).executions.map((execution) => execution.id)).toEqual([sound]);
	const claimed = await backend.leases.claim({ workerId: "w", instanceId: "i", max: 2 });
	expect(claimed.map((execution) => execution.id)).toEqual([sound]);
	expect(faults).toMatchObject([{ about: "a record cannot be read", subjects: [id] }]);
	await backend.close();
});

test("the record of a stream goes with its execution, also when it cannot be read", async () => {
	const store = new MemoryStore(1, () => Date.now());
	const before = new LocalBackend({ engine: new Engine({ store }), actor: "test", retentionMs: 0 });
	await before.engine.start();
	const { id } = await before.executions.create({ kind: "work" });
	const [claimed] = await before.leases.claim({ workerId: "w", instanceId: "i" });
	const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
	await before.leases.appendFrames(id, { fence, frames: [{ text: "a" }, { mode: "summary", patch: { b: 1 } }] });
	await before.leases.complete(id, { fence });
	const [header] = (await store.scan(0, undefined, 100)).records.filter(({ key }) => key === `${id}/h0`);
	const doc = JSON.stringify({ ...JSON.parse(header?.doc ?? ""), next: "seven" });
	const unit = unitOf({ put: [{ key: `${id}/h0`, doc }] });
	await store.commit(0, { engine: "hand", number: 1, at: Date.now(), units: [unit] });
	const engine = new Engine({ store });
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	await expect(backend.streams.read(id, 0)).rejects.toMatchObject({ code: "corrupt_record" });
	await backend.executions.delete(id);
	const { records } = await store.scan(0, undefined, 100);
	expect(records.map(({ key }) => key).filter((key) => key.startsWith(id))).toEqual([]);
	await backend.close();
});
