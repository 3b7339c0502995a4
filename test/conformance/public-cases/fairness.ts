import { expect } from "vitest";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

/** Everything in one partition, so that the order is exact: a key's work lives where the key does. */
async function submit(scene: Scene, keys: string[], request: object = {}): Promise<Map<string, string>> {
	const made = new Map<string, string>();
	for (const fairnessKey of keys) made.set(await scene.create({ fairnessKey, ...request }), fairnessKey);
	return made;
}

const taken = async (scene: Scene, made: Map<string, string>, max: number, calls = 1): Promise<string[]> => {
	const keys: string[] = [];
	for (let n = 0; n < calls; n++) for (const { id } of await scene.claim({ max })) keys.push(made.get(id) ?? "");
	return keys;
};

const counted = (keys: string[]): Record<string, number> => {
	const counts: Record<string, number> = {};
	for (const key of keys) counts[key] = (counts[key] ?? 0) + 1;
	return counts;
};

export function fairnessCases(test: PublicCase): void {
	test("keys are served in turn, whatever waits under each", async (scene) => {
		const made = await submit(scene, [...Array(48).fill("big"), ...Array(6).fill("small")]);
		const keys = await taken(scene, made, 1, 40);
		// In every partition one turn each: with the small key's work anywhere, it never waits for the big one's backlog.
		expect(counted(keys).small).toBe(6);
		expect(keys.lastIndexOf("small")).toBeLessThan(30);
	});

	test("all is given out, each once", async (scene) => {
		const made = await submit(
			scene,
			Array.from({ length: 60 }, (_, n) => `k${n % 7}`),
		);
		const ids = new Set<string>();
		for (;;) {
			const got = await scene.claim({ max: 7 });
			if (got.length === 0) break;
			for (const { id } of got) ids.add(id);
		}
		expect(ids.size).toBe(60);
		expect([...ids].every((id) => made.has(id))).toBe(true);
	});

	test("within a key the order is that of the lane", async (scene) => {
		const made: string[] = [];
		for (let n = 0; n < 6; n++) {
			await scene.clock.advance(1);
			made.push(await scene.create({ fairnessKey: "a" }));
		}
		const got: string[] = [];
		for (let n = 0; n < 6; n++) got.push((await scene.take()).id);
		expect([...got].sort()).toEqual([...made].sort());
	});

	test("priority comes before turns", async (scene) => {
		const low = await submit(scene, ["a", "b", "c"]);
		const high = await submit(scene, ["a", "a", "a"], { priority: 5 });
		const first = [await scene.take(), await scene.take(), await scene.take()].map(({ id }) => id);
		expect(new Set(first)).toEqual(new Set(high.keys()));
		expect(await scene.claim({ max: 9 })).toHaveLength(low.size);
	});

	test("work with and without a key waits side by side", async (scene) => {
		const first = await scene.create({ fairnessKey: "a", priority: 0 });
		await scene.clock.advance(1);
		const second = await scene.create();
		await scene.clock.advance(1);
		const third = await scene.create({ fairnessKey: "b" });
		const order = [await scene.take(), await scene.take(), await scene.take()].map(({ id }) => id);
		expect(order).toEqual([first, second, third]);
	});

	test("a changed priority moves work with a key", async (scene) => {
		const [one, two] = [...(await submit(scene, ["a", "a"])).keys()] as [string, string];
		await scene.backend.executions.changePriority(two, { priority: 9 });
		expect((await scene.take()).id).toBe(two);
		expect((await scene.take()).id).toBe(one);
		expect(await scene.claim({ max: 9 })).toEqual([]);
	});

	test("work with a key comes back after release, retry, loss, delay, revocation and replay", async (scene) => {
		const id = await scene.create({
			fairnessKey: "a",
			policy: { retry: { backoff: { type: "fixed", delayMs: 10 } } },
		});
		const { leases, executions } = scene.backend;
		let held = await scene.take();
		await leases.release(id, { fence: held.fence });
		held = await scene.take();
		await leases.fail(id, { fence: held.fence, reason: "no" });
		await scene.clock.advance(10);
		await scene.take({ leaseMs: 100 });
		await scene.clock.advance(100);
		held = await scene.take();
		await leases.delay(id, { fence: held.fence, delayMs: 5 });
		await scene.clock.advance(5);
		await scene.take();
		await executions.revokeLease(id);
		held = await scene.take();
		await leases.complete(id, { fence: held.fence });
		await executions.replay(id);
		expect((await scene.take()).id).toBe(id);
		expect(await scene.claim()).toEqual([]);
	});

	test("delayed work with a key waits under it when its time has come", async (scene) => {
		const id = await scene.create({ fairnessKey: "a", delayMs: 100 });
		expect(await scene.claim()).toEqual([]);
		await scene.clock.advance(100);
		expect((await scene.take()).id).toBe(id);
	});

	test("a waiting claim is woken by work with a key, again and again", async (scene) => {
		for (let n = 0; n < 5; n++) {
			const waiting = scene.claim({ waitMs: 30_000 });
			await scene.clock.settle();
			const id = await scene.create({ fairnessKey: "a" });
			expect((await waiting).map((each) => each.id)).toEqual([id]);
		}
	});

	test("cancelled work with a key leaves nothing behind that stops the rest", async (scene) => {
		const made = [...(await submit(scene, Array(10).fill("a"))).keys()];
		for (const id of made.slice(0, 9)) await scene.backend.executions.cancel(id);
		expect((await scene.take()).id).toBe(made[9]);
		expect(await scene.claim()).toEqual([]);
		await scene.create({ fairnessKey: "a" });
		await scene.take();
	});

	test("keys and kinds that look alike are kept apart", async (scene) => {
		const one = await scene.create({ kind: "a,b", fairnessKey: "c" });
		const two = await scene.create({ kind: "a", fairnessKey: "b,c" });
		expect((await scene.claim({ kinds: ["a"], max: 9 })).map(({ id }) => id)).toEqual([two]);
		expect((await scene.claim({ kinds: ["a,b"], max: 9 })).map(({ id }) => id)).toEqual([one]);
	});

	test("any text of 1 to 256 characters is a key", async (scene) => {
		for (const fairnessKey of ["日本 🦊", ",", " ", "x".repeat(256), "__proto__"]) {
			const id = await scene.create({ fairnessKey });
			expect((await scene.take()).id).toBe(id);
		}
		for (const fairnessKey of ["", "x".repeat(257), 5, null]) {
			expect(await refusal(scene.create({ fairnessKey: fairnessKey as string }))).toMatchObject({
				code: "invalid_input",
				details: { field: "fairnessKey" },
			});
		}
	});

	test("keys of one tenant take no turns from another's", async (scene) => {
		await submit(scene, Array(20).fill("a"), { namespace: "x" });
		const id = await scene.create({ fairnessKey: "a", namespace: "y" });
		expect((await scene.claim({ namespace: "y", max: 9 })).map((each) => each.id)).toEqual([id]);
	});

	test("work with a key is granted in turn and comes back when the grant lapses", async (scene) => {
		const id = await scene.create({ fairnessKey: "a" });
		const grant = await scene.backend.leases.grant({ workerId: "w", instanceId: "i", grantTtlMs: 100 });
		expect(grant?.executionId).toBe(id);
		expect(await scene.claim()).toEqual([]);
		await scene.clock.advance(100);
		expect((await scene.take()).id).toBe(id);
	});
}

/** A claim looks at so many partitions and no further: only there can it weigh keys against each other. */
export function manyTurnCases(test: PublicCase): void {
	test("one call for many takes turns too", async (scene) => {
		const made = await submit(scene, [...Array(60).fill("a"), ...Array(60).fill("b")]);
		const counts = counted(await taken(scene, made, 40));
		expect(Math.abs((counts.a ?? 0) - (counts.b ?? 0))).toBeLessThanOrEqual(8);
	});
}
