import { expect, it, onTestFinished } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { WORKERS } from "../../src/kernel/placement.ts";
import { WORKER_PREFIX } from "../../src/kernel/records/worker.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** A store whose registry of workers can be watched, and kept from answering. */
async function stage() {
	const clock = new VirtualClock();
	const store = new MemoryStore(8, clock.now);
	const registry = { looks: 0, records: 0, answer: undefined as (() => Promise<never>) | undefined };
	const { first, read } = store;
	store.first = (...question) => {
		if (!question[1].startsWith(WORKERS)) return first.apply(store, question);
		registry.looks += 1;
		return registry.answer?.() ?? first.apply(store, question);
	};
	store.read = (partition, keys) => {
		registry.records += keys.filter((key) => key.startsWith(WORKER_PREFIX)).length;
		return read.call(store, partition, keys);
	};
	const engine = new Engine({ store, clock });
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	onTestFinished(() => backend.close());
	const register = (n: number, kinds: string[]) =>
		backend.workers.register(`w-${n}`, { workerId: "w", capabilities: [], lanes: ["default"], kinds });
	const { id } = await backend.executions.create({ kind: "job" });
	const detailOf = async () => (await backend.executions.get(id)).blockingDetail;
	return { clock, registry, backend, register, detailOf, id };
}

const WAITS = "waiting for a worker on lane default";

it("a read looks at the first workers only when one of them takes the work", async () => {
	const { registry, register, detailOf } = await stage();
	for (let n = 0; n < 150; n++) await register(n, ["job"]);
	Object.assign(registry, { looks: 0, records: 0 });
	expect(await detailOf()).toBe(WAITS);
	expect(registry).toMatchObject({ looks: 1, records: 8 });
});

it("a page of a list looks at the registry once, whatever is on it", async () => {
	const { registry, register, backend } = await stage();
	for (let n = 0; n < 40; n++) await backend.executions.create({ kind: `k${n}`, lane: `l${n % 4}` });
	await register(1, ["other"]);
	Object.assign(registry, { looks: 0, records: 0 });
	const { executions } = await backend.executions.list();
	for (const { kind, lane, blockingDetail } of executions)
		expect(blockingDetail).toBe(`no live worker takes kind ${kind} on lane ${lane}`);
	expect(registry).toMatchObject({ looks: 1, records: 1 });
});

it("a read is answered although the registry fails, or never answers", async () => {
	const { clock, registry, detailOf } = await stage();
	registry.answer = () => Promise.reject(new Error("down"));
	expect(await detailOf()).toBe(WAITS);
	registry.answer = () => new Promise(() => {});
	const reading = detailOf();
	await clock.settle();
	await clock.advance(1000);
	expect(await reading).toBe(WAITS);
});
