import { expect } from "vitest";
import type { PublicCase, Scene } from "../scene.ts";

const MIB = 1024 * 1024;

export function claimOrderCases(test: PublicCase): void {
	test("higher priority is claimed first, older first among equals", async (scene) => {
		const ids: Record<string, string> = {};
		for (const [name, priority] of [
			["low-old", 0],
			["high-old", 9000],
			["middle", 5],
			["low-new", 0],
			["high-new", 9000],
		] as const) {
			ids[name] = await scene.create({ priority });
			await scene.clock.advance(1);
		}
		const order = await claimAll(scene);
		expect(order).toEqual(["high-old", "high-new", "middle", "low-old", "low-new"].map((name) => ids[name]));
	});

	test("work created in the same millisecond is claimed in the order of its creation", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 12; n++) ids.push(await scene.create());
		expect(await claimAll(scene)).toEqual(ids);
	});

	test("work created later with less priority never overtakes", async (scene) => {
		const old = await scene.create({ priority: 1 });
		await scene.clock.advance(24 * 3_600_000);
		const urgent = await scene.create({ priority: 2 });
		expect(await claimAll(scene)).toEqual([urgent, old]);
	});

	test("returned work keeps the place its creation gave it", async (scene) => {
		const first = await scene.start();
		await scene.clock.advance(10);
		const second = await scene.create();
		await scene.backend.leases.release(first.id, { fence: first.fence });
		expect(await claimAll(scene)).toEqual([first.id, second]);
	});

	test("a claim of several takes the best ones", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 20; n++) ids.push(await scene.create({ priority: (n * 7) % 20 }));
		const best = ids.filter((_, n) => (n * 7) % 20 >= 15);
		const claimed = await scene.claim({ max: 5 });
		expect(claimed.map(({ id }) => id).sort()).toEqual(best.sort());
	});

	test("a claim of several lists the best first", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 20; n++) ids[(n * 7) % 20] = await scene.create({ priority: (n * 7) % 20 });
		const claimed = await scene.claim({ max: 20 });
		expect(claimed.map(({ id }) => id)).toEqual([...ids].reverse());
	});

	test("lanes are served in the order given, whatever the priority", async (scene) => {
		const slow = await scene.create({ lane: "slow", priority: 9000 });
		const fast = await scene.create({ lane: "fast" });
		const other = await scene.create({ lane: "other", priority: 9000 });
		const claimed = await scene.claim({ lanes: ["fast", "slow"], max: 10 });
		expect(claimed.map(({ id }) => id)).toEqual([fast, slow]);
		expect((await scene.get(other)).publicState).toBe("waiting");
	});

	test("a claim without lanes serves the default lane only", async (scene) => {
		await scene.create({ lane: "elsewhere" });
		const id = await scene.create();
		expect((await scene.claim({ max: 10 })).map((each) => each.id)).toEqual([id]);
	});

	test("a claim with kinds takes only those, best first among them", async (scene) => {
		await scene.create({ kind: "c", priority: 9 });
		const a = await scene.create({ kind: "a", priority: 1 });
		const b = await scene.create({ kind: "b", priority: 2 });
		expect((await scene.take({ kinds: ["a", "b"] })).id).toBe(b);
		expect((await scene.take({ kinds: ["a", "b"] })).id).toBe(a);
		expect(await scene.claim({ kinds: ["a", "b"] })).toEqual([]);
	});

	test("a claim without kinds takes any kind", async (scene) => {
		for (const kind of ["a", "b", "c"]) await scene.create({ kind });
		expect((await scene.claim({ max: 10 })).map(({ kind }) => kind).sort()).toEqual(["a", "b", "c"]);
	});

	test("a claim takes one unless it asks for more, and never more than it asks for", async (scene) => {
		for (let n = 0; n < 10; n++) await scene.create();
		expect(await scene.claim()).toHaveLength(1);
		expect(await scene.claim({ max: 4 })).toHaveLength(4);
		expect(await scene.claim({ max: 256 })).toHaveLength(5);
		expect(await scene.claim()).toEqual([]);
	});

	test("256 can be claimed at once", async (scene) => {
		await scene.backend.executions.createMany(Array.from({ length: 300 }, () => ({ kind: "job" })));
		const claimed = await scene.claim({ max: 256 });
		expect(new Set(claimed.map(({ id }) => id)).size).toBe(256);
		expect(await scene.claim({ max: 256 })).toHaveLength(44);
	});

	test("a reply stops at 4 MiB of input", async (scene) => {
		for (let n = 0; n < 8; n++) {
			await scene.create({ inputBase64: Buffer.alloc(MIB, n).toString("base64") });
		}
		const sizes = (await scene.claim({ max: 8 })).map(
			({ inputBase64 = "" }) => Buffer.from(inputBase64, "base64").length,
		);
		const total = sizes.reduce((sum, size) => sum + size, 0);
		expect(total).toBeGreaterThan(0);
		expect(total).toBeLessThanOrEqual(4 * MIB);
	});

	test("what a full reply left behind is claimed by the next", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 6; n++) ids.push(await scene.create({ inputBase64: Buffer.alloc(MIB, n).toString("base64") }));
		const claimed: string[] = [];
		for (let calls = 0; calls < 6 && claimed.length < 6; calls++) {
			claimed.push(...(await scene.claim({ max: 6 })).map(({ id }) => id));
		}
		expect(claimed.sort()).toEqual(ids.sort());
	});

	test("no work is claimed twice by claims made at once", async (scene) => {
		await scene.backend.executions.createMany(Array.from({ length: 40 }, () => ({ kind: "job" })));
		const claims = await Promise.all(
			Array.from({ length: 10 }, (_, n) => scene.claim({ max: 7, instanceId: `instance-${n}` })),
		);
		const ids = claims.flat().map(({ id }) => id);
		expect(new Set(ids).size).toBe(ids.length);
		const rest = await scene.claim({ max: 100 });
		expect(ids.length + rest.length).toBe(40);
	});

	test("tenants never see each other's work", async (scene) => {
		const a = await scene.create({ namespace: "a" });
		const b = await scene.create({ namespace: "b" });
		expect(await scene.claim({ max: 10 })).toEqual([]);
		expect((await scene.take({ namespace: "b" })).id).toBe(b);
		expect(await scene.claim({ namespace: "b" })).toEqual([]);
		expect((await scene.take({ namespace: "a" })).id).toBe(a);
	});

	test("a claim tells what the work is, its attempt and its lease", async (scene) => {
		const traceparent = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
		const id = await scene.create({
			kind: "k",
			lane: "l",
			namespace: "n",
			input: { a: [1, "zwei"] },
			tags: { team: "red" },
			policy: { timeouts: { attemptMs: 5000 } },
			traceparent,
		});
		const [claimed] = await scene.claim({
			namespace: "n",
			lanes: ["l"],
			leaseMs: 1000,
			workerId: "w",
			instanceId: "i",
		});
		expect(claimed).toEqual({
			id,
			kind: "k",
			namespace: "n",
			lane: "l",
			input: { a: [1, "zwei"] },
			contentType: "application/json",
			attempt: { index: 0, type: "initial" },
			lease: { id: expect.stringMatching(/^le_[0-9a-f]{32}_[0-9]+$/), epoch: 1, expiresAt: scene.now + 1000 },
			signals: [],
			stepCount: 0,
			tags: { team: "red" },
			timeouts: { attemptMs: 5000 },
			traceparent,
		});
		expect((await scene.get(id)).lease).toEqual({ ...claimed?.lease, workerId: "w", instanceId: "i" });
	});

	test("a lease lasts 30 seconds unless the claim says otherwise", async (scene) => {
		const { lease } = await scene.start();
		expect(lease.expiresAt).toBe(scene.now + 30_000);
	});
}

async function claimAll(scene: Scene): Promise<string[]> {
	const ids: string[] = [];
	for (;;) {
		const [claimed] = await scene.claim();
		if (!claimed) return ids;
		ids.push(claimed.id);
	}
}
