import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exportFile, FlowFabric, importFile } from "../../src/index.ts";

let folder: string;
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-move-"));
});
afterAll(() => rm(folder, { recursive: true }));

test("a store moves to another file with more partitions, and work goes on there", async () => {
	const from = `sqlite:${join(folder, "from.db")}`;
	const to = `sqlite:${join(folder, "to.db")}`;
	const file = join(folder, "all.jsonl");
	const before = await FlowFabric.open(from);
	const done = await before.submit("echo", { text: "x".repeat(10_000) }, { idempotencyKey: "first" });
	const [claimed] = await before.backend.leases.claim({ workerId: "w", instanceId: "w" });
	const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
	await before.backend.leases.complete(done.id, { fence, result: "y".repeat(10_000) });
	const waiting = await before.submit("echo", "later");
	const history = await before.events(done.id);
	const view = await before.get(done.id);
	await before.close();

	await exportFile(from, file);
	await expect(exportFile(from, file)).rejects.toThrow("EEXIST");
	const counts = await importFile(file, to, { partitions: 8 });
	expect(counts).toEqual({ records: 3, blobs: 2, events: 4 });

	const after = await FlowFabric.open(to);
	expect(await after.get(done.id)).toEqual(view);
	expect((await after.events(done.id)).events).toEqual(history.events);
	expect(await after.result(done.id)).toBe("y".repeat(10_000));
	const again = await after.submit("echo", { text: "x".repeat(10_000) }, { idempotencyKey: "first" });
	expect(again).toMatchObject({ id: done.id, created: false });
	const worker = after.worker({ handleSignals: false });
	worker.handle("echo", async (_context, input) => input);
	await worker.start();
	expect(await after.run(waiting.id).result({ timeoutMs: 10_000 })).toBe("later");
	await after.close();
});

test("tokens of waitpoints end with a move, unless the keys move too, also to a store that was opened before", async () => {
	const [from, file] = [`sqlite:${join(folder, "signed.db")}`, join(folder, "signed.jsonl")];
	const before = await FlowFabric.open(from);
	const run = await before.submit("job");
	const [claimed] = await before.backend.leases.claim({ workerId: "w", instanceId: "w" });
	const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
	const { id, token } = await before.backend.leases.createWaitpoint(run.id, { fence, key: "door" });
	await before.rotateWaitpointSecret();
	await before.close();
	const knock = async (to: string) => {
		const after = await FlowFabric.open(to);
		const signal = { waitpointId: id, token, name: "knock" };
		const answer = await after.backend.waitpoints.signal(run.id, signal).catch((error: { code: string }) => error);
		await after.close();
		return answer;
	};

	await exportFile(from, `${file}.public`);
	await exportFile(from, file, { keys: true });
	expect((await stat(file)).mode & 0o077).toBe(0);
	for (const name of ["without.db", "with.db"]) {
		const to = `sqlite:${join(folder, name)}`;
		await (await FlowFabric.open(to, { partitions: 4 })).close();
		await importFile(name === "with.db" ? file : `${file}.public`, to);
		expect(await knock(to)).toMatchObject(name === "with.db" ? { status: "accepted" } : { code: "invalid_token" });
		await expect(importFile(file, to)).rejects.toThrow("the store is not empty");
	}
});

test("streams move along with their attempts, and go on there", async () => {
	const from = `sqlite:${join(folder, "told.db")}`;
	const to = `sqlite:${join(folder, "retold.db")}`;
	const file = join(folder, "told.jsonl");
	const before = await FlowFabric.open(from);
	const run = await before.submit("job");
	const [claimed] = await before.backend.leases.claim({ workerId: "w", instanceId: "w", leaseMs: 3_600_000 });
	const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
	for (let seq = 1; seq <= 20; seq += 2) {
		const patch = { mode: "summary" as const, patch: { [`at${seq}`]: seq }, seq: seq + 1 };
		await before.backend.leases.appendFrames(run.id, { fence, frames: [{ text: "é".repeat(seq), seq }, patch] });
	}
	const look = async (ff: FlowFabric) => [await ff.streams.read(run.id, 0), await ff.streams.summary(run.id, 0)];
	const seen = await look(before);
	await before.close();
	await exportFile(from, file);
	await importFile(file, to, { partitions: 8 });
	const after = await FlowFabric.open(to);
	expect(await look(after)).toEqual(seen);
	const appended = await after.backend.leases.appendFrames(run.id, { fence, frames: [{ text: "known", seq: 20 }] });
	expect(appended).toMatchObject({ frameCount: 20, summaryVersion: 10 });
	await after.backend.leases.appendFrames(run.id, { fence, frames: [{ text: "new", seq: 21 }] });
	expect((await after.streams.read(run.id, 0)).frames.at(-1)).toMatchObject({ text: "new", attempt: 0 });
	await after.close();
});

test("budgets and quotas move along, each to where its name leads", async () => {
	const from = `sqlite:${join(folder, "spent.db")}`;
	const to = `sqlite:${join(folder, "moved.db")}`;
	const file = join(folder, "spent.jsonl");
	const before = await FlowFabric.open(from, { partitions: 2 });
	const ids = ["a", "b", "c", "d", "e", "f"];
	const run = await before.submit("job");
	for (const id of ids) {
		await before.budgets.create({ id, dimensions: { tokens: { hard: 10 } } });
		await before.budgets.usage(id, { dims: { tokens: 3 }, executionId: run.id, dedupKey: "k" });
		await before.quotas.create({ id, concurrency: 5, rate: { max: 1, windowMs: 60_000 } });
	}
	const look = async (ff: FlowFabric) => [
		await ff.budgets.list(),
		await ff.quotas.list(),
		await Promise.all(ids.map((id) => ff.budgets.ledger(id))),
	];
	const seen = await look(before);
	await before.close();
	await exportFile(from, file);
	await importFile(file, to, { partitions: 8 });
	const after = await FlowFabric.open(to);
	expect(await look(after)).toEqual(seen);
	for (const id of ids) {
		const report = { dims: { tokens: 3 }, executionId: run.id, dedupKey: "k" };
		expect(await after.budgets.usage(id, report)).toMatchObject({ duplicate: true });
		expect(await after.budgets.release(id, { executionId: run.id })).toEqual({ released: { tokens: 3 } });
	}
	await after.close();
});

test("recorded steps and waits move along, and leave nothing behind when their execution goes", async () => {
	const [from, to] = [`sqlite:${join(folder, "stepped.db")}`, `sqlite:${join(folder, "stepped-to.db")}`];
	const file = join(folder, "stepped.jsonl");
	const ran: string[] = [];
	const withWorker = async <T>(ff: FlowFabric, run: () => Promise<T>): Promise<T> => {
		const worker = ff.worker({ handleSignals: false });
		worker.handle("job", async (ctx) => {
			const large = await ctx.step("large", () => `${"x".repeat(10_000)}${ran.push("large")}`);
			const { payload } = await ctx.waitForSignal("go");
			return [large.length, payload, await ctx.step("last", () => ran.push("last"))];
		});
		await worker.start();
		const result = await run();
		await worker.stop();
		return result;
	};
	const before = await FlowFabric.open(from);
	const { id } = await before.submit("job");
	await withWorker(before, async () => {
		for await (const { event } of before.follow(id)) if (event.type === "suspended") return;
	});
	await before.close();
	await exportFile(from, file);
	const { blobs } = await importFile(file, to, { partitions: 8 });
	expect(blobs).toBe(1);

	const after = await FlowFabric.open(to);
	await after.backend.waitpoints.approve(id, { name: "go", payload: "there" });
	const result = await withWorker(after, () => after.result(id, { timeoutMs: 30_000 }));
	expect([result, ran]).toEqual([
		[10_001, "there", 2],
		["large", "last"],
	]);
	await after.delete(id);
	await after.close();
	await exportFile(to, `${file}.after`);
	const left = (await readFile(`${file}.after`, "utf8")).split("\n");
	expect(left.filter((line) => line.startsWith('{"record":"ex_') || line.startsWith('{"blob"'))).toEqual([]);
	expect(left.filter((line) => line.startsWith('{"record":"wp_'))).toEqual([]);
});
