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
