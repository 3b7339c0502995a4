import { expect } from "vitest";
import type { PublicCase, Scene } from "../scene.ts";

const scanner = async (scene: Scene, name: string) =>
	(await scene.ff.scanners()).scanners.find((each) => each.name === name);

async function backup(scene: Scene): Promise<Record<string, unknown>[]> {
	const lines: Record<string, unknown>[] = [];
	for await (const line of scene.backend.admin.backup()) lines.push(JSON.parse(line));
	return lines;
}

export function administrationCases(test: PublicCase): void {
	test("every duty has a row, and nothing was done yet", async (scene) => {
		const { scanners } = await scene.ff.scanners();
		const names = scanners.map(({ name }) => name);
		expect(names).toEqual(
			expect.arrayContaining([
				"lease_expiry",
				"delayed_promoter",
				"retention_trimmer",
				"worker_expiry",
				"index_reconciler",
				"due",
			]),
		);
		expect(new Set(names).size).toBe(names.length);
		const { lagMs, lastRunAt, ...row } = (await scanner(scene, "lease_expiry")) ?? {};
		expect(row).toEqual({ name: "lease_expiry", runs: 0, items: 0, errors: 0, parked: 0 });
		expect([lagMs, lastRunAt]).toEqual([undefined, undefined]);
	});

	test("what was due is counted under its duty", async (scene) => {
		await scene.create({ delayMs: 5000, lane: "a" });
		await scene.create({ delayMs: 9000, lane: "b" });
		await scene.start({ lane: "c" }, { leaseMs: 2000 });
		await scene.backend.workers.register("i", { workerId: "w", capabilities: [], lanes: ["a"], ttlMs: 1000 });
		await scene.clock.advance(9000);
		expect(await scanner(scene, "delayed_promoter")).toMatchObject({
			runs: 2,
			items: 2,
			errors: 0,
			lastRunAt: scene.now,
			lagMs: 0,
		});
		expect(await scanner(scene, "lease_expiry")).toMatchObject({ runs: 1, items: 1, lastRunAt: scene.now - 7000 });
		expect(await scanner(scene, "worker_expiry")).toMatchObject({ items: 1 });
		expect((await scanner(scene, "due"))?.items).toBeGreaterThanOrEqual(4);
	});

	test(
		"scanners restricted to namespaces and tags say so, and leave all else undone",
		async (scene) => {
			const tags = { team: "x", region: "north" };
			const ours = await scene.create({ namespace: "a", tags, delayMs: 1000 });
			const untagged = await scene.create({ namespace: "a", tags: { team: "y" }, delayMs: 1000 });
			const foreign = await scene.create({ namespace: "b", tags, delayMs: 1000 });
			await scene.clock.advance(5000);
			expect((await scene.get(ours)).publicState).toBe("waiting");
			expect((await scene.get(untagged)).publicState).toBe("delayed");
			expect((await scene.get(foreign)).publicState).toBe("delayed");
			expect((await scene.ff.scanners()).restrictedTo).toEqual({
				namespaces: ["a", "c"],
				tags: ["team:x", "team:z"],
			});
			expect((await scanner(scene, "delayed_promoter"))?.items).toBe(1);
			// What is not minded is still served.
			await scene.backend.executions.cancel(foreign);
			expect((await scene.get(foreign)).publicState).toBe("cancelled");
		},
		{ scanners: { namespaces: ["a", "c"], tags: ["team:x", "team:z"] } },
	);

	test("scanners that are not restricted say nothing of it", async (scene) => {
		expect(await scene.ff.scanners()).not.toHaveProperty("restrictedTo");
	});

	test("a store that answers is ready", async (scene) => {
		await scene.backend.admin.ready();
	});

	test("a backup holds all there is, and says how much that was", async (scene) => {
		const big = "x".repeat(20_000);
		const done = await scene.finished({ input: { big } });
		const waiting = await scene.create({ lane: "b", idempotencyKey: "k" });
		const lines = await backup(scene);
		expect(lines[0]).toMatchObject({ flowfabric: "export" });
		const of = (kind: string) => lines.filter((line) => kind in line).map((line) => line[kind]);
		expect(of("record")).toEqual(expect.arrayContaining([done.id, waiting, "key:default:k"]));
		expect(of("blob")).toHaveLength(1);
		expect(of("event").filter((owner) => owner === done.id)).toHaveLength(3);
		expect(lines.at(-1)).toEqual({
			end: { records: of("record").length, blobs: 1, events: of("event").length },
		});
	});

	test("work goes on while a backup is read, and after one that was broken off", async (scene) => {
		for (let n = 0; n < 20; n++) await scene.create({ lane: `l${n}` });
		const lines: string[] = [];
		for await (const line of scene.backend.admin.backup()) {
			lines.push(line);
			if (lines.length <= 5) await scene.finished();
		}
		const { end } = JSON.parse(lines.at(-1) ?? "{}");
		expect(end.records).toBe(lines.filter((line) => line.startsWith('{"record"')).length);
		for await (const line of scene.backend.admin.backup()) if (line.includes('"record"')) break;
		expect((await scene.finished()).id).toBeDefined();
	});
}
