import { expect, test } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import type { Fault } from "../../src/engine/fault-log.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { unitOf } from "../../src/store/port.ts";

/** A store in which somebody's hand changes documents while no engine has it. */
async function stage(partitions: number, prepare: (backend: LocalBackend) => Promise<void>) {
	const store = new MemoryStore(partitions, () => Date.now());
	const open = async (faults: Fault[]) => {
		const engine = new Engine({ store, onFault: (fault) => faults.push(fault) });
		await engine.start();
		return new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	};
	await prepare(await open([]));
	let number = 0;
	return {
		async change(key: string, fields: object): Promise<void> {
			for (let partition = 0; partition < partitions; partition++) {
				const [stored] = (await store.read(partition, [key])).records;
				if (!stored || stored.version === 0) continue;
				const doc = JSON.stringify({ ...JSON.parse(stored.doc), ...fields });
				const unit = unitOf({ expected: [[key, stored.version]], put: [{ key, doc }] });
				const batch = { engine: `hand ${partition}`, number: ++number, at: Date.now(), units: [unit] };
				expect((await store.commit(partition, batch)).results).toEqual([{ ok: true }]);
			}
		},
		open,
	};
}

test.each([1, 8])(
	"a claim passes over what a damaged quota would have to admit, of %d partitions",
	async (partitions) => {
		const bed = await stage(partitions, async ({ executions, quotas }) => {
			for (const id of ["bad", "good"]) await quotas.create({ id, concurrency: 10 });
			for (const quota of ["bad", "bad", "good"]) await executions.create({ kind: "job", quotas: [quota] });
			await executions.create({ kind: "other" });
		});
		await bed.change("quota:default,bad", { window: [null] });
		const faults: Fault[] = [];
		const backend = await bed.open(faults);
		const claim = () => backend.leases.claim({ workerId: "w", instanceId: "i", max: 10 });
		const claimed = await claim();
		expect(claimed).toHaveLength(2);
		expect(await claim()).toEqual([]);
		expect((await backend.quotas.list()).quotas.map(({ id }) => id)).toEqual(["good"]);
		expect(faults).toMatchObject([{ about: "a record cannot be read", subjects: ["quota:default,bad"] }]);
		await backend.close();
	},
);

test("a claim passes over members of a damaged flow, which stay as they are", async () => {
	let flow = { id: "", nodes: {} as Readonly<Record<string, string>> };
	let other = "";
	const bed = await stage(1, async ({ executions, flows }) => {
		flow = await flows.create({ nodes: [{ key: "a", kind: "job" }], edges: [] });
		other = (await executions.create({ kind: "job" })).id;
	});
	await bed.change(flow.id, { budgets: [5] });
	const backend = await bed.open([]);
	const claimed = await backend.leases.claim({ workerId: "w", instanceId: "i", max: 10 });
	expect(claimed.map(({ id }) => id)).toEqual([other]);
	expect((await backend.executions.get(flow.nodes["a"] ?? "")).publicState).toBe("waiting");
	await backend.close();
});

test("what is wrong inside a member keeps nobody else from being written, listed or told", async () => {
	let flow = { id: "", nodes: {} as Readonly<Record<string, string>> };
	const bed = await stage(1, async ({ flows }) => {
		flow = await flows.create({ nodes: ["a", "b"].map((key) => ({ key, kind: "job" })), edges: [] });
	});
	const { a = "", b = "" } = flow.nodes;
	await bed.change(a, { member: {} });
	const backend = await bed.open([]);
	const { executions } = backend;
	const details = { key: a, field: "member.key" };
	await expect(executions.get(a)).rejects.toMatchObject({ code: "corrupt_record", details });
	// Together, so that they would share a commit.
	const changed = await Promise.allSettled([
		executions.changePriority(a, { priority: 2 }),
		executions.changePriority(b, { priority: 2 }),
	]);
	expect(changed.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
	expect((await executions.list()).executions.map(({ id }) => id)).toEqual([b]);
	expect((await backend.flows.get(flow.id)).id).toBe(flow.id);
	await backend.close();
});

test("a list passes over index entries that name something else than an execution", async () => {
	const store = new MemoryStore(1, () => Date.now());
	const engine = new Engine({ store, onFault: () => {} });
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	const { id } = await backend.executions.create({ kind: "job" });
	await backend.quotas.create({ id: "q", concurrency: 1 });
	const indexAdded = [{ queue: "list,default,default,waiting", key: "quota:default,q", score: -5 }];
	await store.commit(0, { engine: "hand", number: 1, at: Date.now(), units: [unitOf({ indexAdded })] });
	expect((await backend.executions.list()).executions.map((each) => each.id)).toEqual([id]);
	await backend.close();
});
