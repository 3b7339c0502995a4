import { expect } from "vitest";
import type { RegisterWorkerRequest, WorkerPage, WorkersPageRequest } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const offer: RegisterWorkerRequest = { workerId: "w", capabilities: [], lanes: ["default"] };

const registered = async (scene: Scene, namespace = "default"): Promise<string[]> =>
	(await scene.backend.workers.list({ namespace })).workers.map(({ instanceId }) => instanceId);

async function pagesOf(scene: Scene, request: WorkersPageRequest): Promise<string[][]> {
	const pages: string[][] = [];
	let next: WorkersPageRequest | undefined = request;
	while (next) {
		const { workers, nextCursor }: WorkerPage = await scene.ff.workers(next);
		pages.push(workers.map(({ instanceId }) => instanceId));
		next = nextCursor === undefined ? undefined : { ...request, cursor: nextCursor };
	}
	return pages;
}

export function workerRegistryCases(test: PublicCase): void {
	test("nobody is registered at first", async (scene) => {
		expect(await scene.ff.workers()).toEqual({ workers: [] });
	});

	test("a registered worker is listed with what it offers", async (scene) => {
		const view = await scene.backend.workers.register("i-1", {
			workerId: "w",
			capabilities: ["gpu", "eu"],
			kinds: ["b", "a"],
			lanes: ["media", "default"],
			ttlMs: 5000,
		});
		expect(view).toEqual({
			instanceId: "i-1",
			workerId: "w",
			namespace: "default",
			capabilities: ["eu", "gpu"],
			kinds: ["b", "a"],
			lanes: ["media", "default"],
			registeredAt: scene.now,
			lastSeenAt: scene.now,
			expiresAt: scene.now + 5000,
		});
		expect(await scene.ff.workers()).toEqual({ workers: [view] });
	});

	test("kinds are left out for a worker that takes any, and the ttl is 30 seconds", async (scene) => {
		const view = await scene.backend.workers.register("i-1", offer);
		expect(view.expiresAt).toBe(scene.now + 30_000);
		expect(view).not.toHaveProperty("kinds");
	});

	test("registering again refreshes: its first time stays, what it offers is replaced", async (scene) => {
		const first = await scene.backend.workers.register("i-1", { ...offer, capabilities: ["a"], kinds: ["k"] });
		await scene.clock.advance(10_000);
		const again = await scene.backend.workers.register("i-1", { ...offer, workerId: "w2", capabilities: ["b"] });
		expect(again).toMatchObject({ registeredAt: first.registeredAt, lastSeenAt: scene.now, workerId: "w2" });
		expect(again.capabilities).toEqual(["b"]);
		expect(again).not.toHaveProperty("kinds");
		expect(await scene.ff.workers()).toEqual({ workers: [again] });
	});

	test("a worker that is not heard again disappears after its ttl, one that is stays", async (scene) => {
		await scene.backend.workers.register("silent", { ...offer, ttlMs: 6000 });
		await scene.backend.workers.register("steady", { ...offer, ttlMs: 6000 });
		for (let beat = 0; beat < 3; beat++) {
			await scene.clock.advance(1999);
			await scene.backend.workers.register("steady", { ...offer, ttlMs: 6000 });
		}
		expect(await registered(scene)).toEqual(["silent", "steady"]);
		await scene.clock.advance(3);
		expect(await registered(scene)).toEqual(["steady"]);
		await scene.clock.advance(6000);
		expect(await registered(scene)).toEqual([]);
	});

	test("an instance that had lapsed begins anew", async (scene) => {
		await scene.backend.workers.register("i-1", { ...offer, ttlMs: 1000 });
		await scene.clock.advance(1000);
		const { registeredAt } = await scene.backend.workers.register("i-1", offer);
		expect(registeredAt).toBe(scene.now);
	});

	test("a worker that leaves is gone at once; leaving twice is no error", async (scene) => {
		await scene.backend.workers.register("i-1", offer);
		expect(await scene.backend.workers.remove("i-1")).toEqual({ removed: true });
		expect(await registered(scene)).toEqual([]);
		expect(await scene.backend.workers.remove("i-1")).toEqual({ removed: false });
	});

	test("tenants do not see each other's workers", async (scene) => {
		await scene.backend.workers.register("i-1", offer);
		await scene.backend.workers.register("i-1", { ...offer, namespace: "n", workerId: "other" });
		expect(await registered(scene, "m")).toEqual([]);
		expect((await scene.ff.workers({ namespace: "n" })).workers).toMatchObject([{ namespace: "n", workerId: "other" }]);
		expect(await scene.backend.workers.remove("i-1", { namespace: "n" })).toEqual({ removed: true });
		expect(await registered(scene)).toEqual(["i-1"]);
	});

	test("workers are listed in the order they came, however many", async (scene) => {
		const names = Array.from({ length: 1100 }, (_, n) => `i-${n}`);
		await scene.backend.workers.register("zz", offer);
		await scene.clock.advance(1);
		await Promise.all(names.map((name) => scene.backend.workers.register(name, offer)));
		const pages = await pagesOf(scene, { limit: 1000 });
		expect(pages.map((page) => page.length)).toEqual([1000, 101]);
		expect(pages.flat()).toEqual(["zz", ...names.sort()]);
	});

	test("workers are listed page by page, without a gap or a repeat while others come and go", async (scene) => {
		for (let n = 0; n < 7; n++) {
			await scene.backend.workers.register(`i-${n}`, offer);
			await scene.clock.advance(1);
		}
		const first = await scene.ff.workers({ limit: 3 });
		expect(first.workers.map(({ instanceId }) => instanceId)).toEqual(["i-0", "i-1", "i-2"]);
		await scene.backend.workers.remove("i-2");
		await scene.backend.workers.remove("i-4");
		await scene.backend.workers.register("i-1", offer);
		await scene.backend.workers.register("i-7", offer);
		const rest = await pagesOf(scene, { limit: 3, cursor: first.nextCursor ?? "" });
		expect(rest).toEqual([["i-3", "i-5", "i-6"], ["i-7"]]);
		expect(await pagesOf(scene, { limit: 6 })).toEqual([["i-0", "i-1", "i-3", "i-5", "i-6", "i-7"]]);
		expect(await pagesOf(scene, { limit: 5, namespace: "n" })).toEqual([[]]);
	});

	test("a page of large workers ends early, and the next goes on behind it", async (scene) => {
		const kinds = Array.from({ length: 120 }, (_, n) => `${n}-${"k".repeat(240)}`);
		for (let n = 0; n < 150; n++) await scene.backend.workers.register(`i-${n}`, { ...offer, kinds });
		const pages = await pagesOf(scene, { limit: 1000 });
		expect(pages.length).toBeGreaterThan(1);
		expect(pages.flat()).toHaveLength(150);
		expect(new Set(pages.flat()).size).toBe(150);
	});

	test("capabilities are kept sorted and once", async (scene) => {
		const { capabilities } = await scene.backend.workers.register("i", {
			...offer,
			capabilities: ["zeta", "größe", "alpha", "zeta", "Alpha", "a=b;c", "🦊"],
		});
		expect(capabilities).toEqual(["Alpha", "a=b;c", "alpha", "größe", "zeta", "🦊"]);
	});

	test("a capability with a comma, whitespace or a control character is refused by name", async (scene) => {
		for (const bad of [
			"",
			"a,b",
			"a b",
			" a",
			"a\t",
			"a\n",
			"a\u00a0b",
			"a\u2003b",
			"a\u0000b",
			"a\u007f",
			"a\u0085",
		]) {
			const { code, message, details } = await refusal(
				scene.backend.workers.register("i", { ...offer, capabilities: ["good", bad] }),
			);
			expect([code, details.field]).toEqual(["invalid_input", "capabilities[1]"]);
			expect(message).toContain(JSON.stringify(bad));
		}
		const { details } = await refusal(scene.backend.workers.register("i", { ...offer, capabilities: ["a\ud800"] }));
		expect(details.field).toBe("capabilities[0]");
		expect(await registered(scene)).toEqual([]);
	});

	test("256 capabilities and 4096 bytes of them are the most", async (scene) => {
		const many = (count: number) => Array.from({ length: count }, (_, n) => `c${n}`);
		const attempt = (capabilities: string[]) => scene.backend.workers.register("i", { ...offer, capabilities });
		expect((await attempt(many(256))).capabilities).toHaveLength(256);
		expect((await refusal(attempt(many(257)))).details.field).toBe("capabilities");
		// Two tokens and the comma between them.
		expect((await attempt(["x".repeat(2000), "y".repeat(2095)])).capabilities).toHaveLength(2);
		expect((await refusal(attempt(["x".repeat(2000), "y".repeat(2096)]))).details.field).toBe("capabilities");
		expect((await refusal(attempt(["ü".repeat(2049)]))).details.field).toBe("capabilities");
	});

	test("bad registrations are refused by the name of their field", async (scene) => {
		const bad: [string, object][] = [
			["workerId", { workerId: "" }],
			["namespace", { namespace: "a b" }],
			["lanes", { lanes: [] }],
			["lanes[0]", { lanes: ["a,b"] }],
			["kinds", { kinds: [] }],
			["kinds", { kinds: Array.from({ length: 200 }, (_, n) => `${n}${"k".repeat(250)}`) }],
			["ttlMs", { ttlMs: 999 }],
			["ttlMs", { ttlMs: 3_600_001 }],
			["extra", { extra: 1 }],
		];
		for (const [field, change] of bad) {
			const { code, details } = await refusal(scene.backend.workers.register("i", { ...offer, ...change }));
			expect([code, details.field]).toEqual(["invalid_input", field]);
		}
		for (const call of [scene.backend.workers.register("", offer), scene.backend.workers.remove("a\nb")]) {
			expect((await refusal(call)).details.field).toBe("instanceId");
		}
	});
}
