import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exportFile, FlowFabric, importFile } from "../../src/index.ts";
import { runHere } from "../cli/stage.ts";

let folder: string;
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-move-flows-"));
});
afterAll(() => rm(folder, { recursive: true }));

const nodesOf = (count: number) => Array.from({ length: count }, (_, n) => ({ key: `n${n}`, kind: "job", input: n }));

/** Nothing that a doctor would complain of. */
async function expectHealthy(store: string): Promise<void> {
	const { code, out } = await runHere(["doctor", "--store", store, "--json"]);
	const { problems, facts } = JSON.parse(out) as { problems: string[]; facts: Record<string, unknown> };
	expect(problems).toEqual([]);
	expect(code).toBe(0);
	expect(facts).toMatchObject({ "corrupt records": 0, "index drift": { missing: 0, stale: 0 } });
}

async function completeAll(ff: FlowFabric): Promise<void> {
	for (;;) {
		const claimed = await ff.backend.leases.claim({ workerId: "w", instanceId: "w", max: 256 });
		if (claimed.length === 0) return;
		await ff.backend.leases.completeMany(
			claimed.map(({ id, lease, input }) => ({
				executionId: id,
				fence: { leaseId: lease.id, epoch: lease.epoch },
				result: input,
			})),
		);
	}
}

test("flows move to another store with more partitions, whole, and go on there", async () => {
	const [from, to] = [`sqlite:${join(folder, "from.db")}`, `sqlite:${join(folder, "to.db")}`];
	const file = join(folder, "all.jsonl");
	const before = await FlowFabric.open(from, { partitions: 2 });
	const { flows } = before.backend;
	const wide = await flows.create({
		idempotencyKey: "wide",
		nodes: [...nodesOf(100), { key: "z", kind: "last" }],
		edges: nodesOf(100).map(({ key }) => ({ from: key, to: "z", passResultAs: key })),
	});
	const growing = await flows.create({ nodes: nodesOf(2), sealed: false });
	const ended = await flows.create({ nodes: [{ key: "a", kind: "never", idempotencyKey: "node" }] });
	await flows.cancel(ended.id, { policy: "cancel_all" }, { wait: true });
	const [claimed] = await before.backend.leases.claim({ workerId: "w", instanceId: "w", kinds: ["job"] });
	await before.backend.leases.complete(claimed?.id ?? "", {
		fence: { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 },
		result: claimed?.input,
	});
	const ids = [wide.id, growing.id, ended.id];
	const look = async (ff: FlowFabric) => {
		const views = await Promise.all(ids.map((id) => ff.backend.flows.get(id)));
		const events = await Promise.all(ids.map((id) => ff.backend.flows.events(id, { limit: 1000 })));
		return [views, events.map((page) => page.events)];
	};
	const seen = await look(before);
	await before.close();
	await expectHealthy(from);

	await exportFile(from, file);
	await importFile(file, to, { partitions: 8 });
	await expectHealthy(to);

	const after = await FlowFabric.open(to);
	expect(await look(after)).toEqual(seen);
	const again = await after.backend.executions.create({ kind: "never", idempotencyKey: "node" });
	expect(again).toMatchObject({ id: ended.nodes["a"], created: false });
	await after.backend.flows.addMember(growing.id, { key: "more", kind: "job" });
	await after.backend.flows.addEdge(growing.id, { from: "n0", to: "more", expectedRevision: 2 });
	await after.backend.flows.seal(growing.id);
	await completeAll(after);
	await completeAll(after);
	for (const id of [wide.id, growing.id])
		expect(await after.backend.flows.wait(id, { timeoutMs: 20_000 })).toMatchObject({ state: "completed" });
	await after.backend.flows.delete(growing.id);
	await after.close();
	await expectHealthy(to);
});
