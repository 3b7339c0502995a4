import { expect } from "vitest";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const ids = async (scene: Scene, capabilities: string[] | undefined, max = 256): Promise<string[]> =>
	(await scene.claim({ max, ...(capabilities ? { capabilities } : undefined) })).map(({ id }) => id);

export function capabilityCases(test: PublicCase): void {
	test("work that requires nothing is given to anyone", async (scene) => {
		const one = await scene.create();
		const two = await scene.create({ requiredCapabilities: [] });
		expect(await ids(scene, undefined, 1)).toEqual([one]);
		expect(await ids(scene, ["gpu", "cuda"])).toEqual([two]);
	});

	test("work is given only to a worker that offers all it requires", async (scene) => {
		const id = await scene.create({ requiredCapabilities: ["gpu", "cuda"] });
		for (const offer of [
			undefined,
			[],
			["gpu"],
			["cuda"],
			["GPU", "CUDA"],
			["gp", "u", "cuda"],
			["gpu cuda".slice(0, 3)],
		])
			expect(await ids(scene, offer)).toEqual([]);
		expect(await ids(scene, ["tpu", "gpu", "big", "cuda"])).toEqual([id]);
	});

	test("what is required is told on every read, sorted, each once", async (scene) => {
		const id = await scene.create({ requiredCapabilities: ["gpu", "cuda", "gpu"] });
		expect((await scene.get(id)).requiredCapabilities).toEqual(["cuda", "gpu"]);
		const { executions } = await scene.backend.executions.list();
		expect(executions[0]?.requiredCapabilities).toEqual(["cuda", "gpu"]);
		expect((await scene.get(await scene.create())).requiredCapabilities).toEqual([]);
	});

	test("any text without comma, space or control character is a capability", async (scene) => {
		const tokens = ["日本", "a:b/c=1.2;x", "🦊", "é", "eligible", "x".repeat(1000)];
		const id = await scene.create({ requiredCapabilities: tokens, kind: "with, comma" });
		expect(await ids(scene, tokens.slice(1))).toEqual([]);
		expect(await ids(scene, [...tokens].reverse())).toEqual([id]);
	});

	test("a bad capability is refused by name, at create and at claim", async (scene) => {
		for (const bad of ["", "a b", "a,b", "a\u0000b", "a\tb", "a\u0085b", "\n"]) {
			const create = scene.create({ requiredCapabilities: ["ok", bad] });
			expect(await refusal(create)).toMatchObject({
				code: "invalid_input",
				details: { field: "requiredCapabilities[1]" },
			});
			const claim = scene.claim({ capabilities: [bad] });
			expect(await refusal(claim)).toMatchObject({ code: "invalid_input", details: { field: "capabilities[0]" } });
		}
	});

	test("more than 256 capabilities, or 4096 bytes of them, are refused", async (scene) => {
		const many = Array.from({ length: 257 }, (_, n) => `c${n}`);
		const long = Array.from({ length: 17 }, (_, n) => `${n}`.padEnd(241, "é").slice(0, 241));
		for (const requiredCapabilities of [many, long]) {
			expect(await refusal(scene.create({ requiredCapabilities }))).toMatchObject({
				code: "invalid_input",
				details: { field: "requiredCapabilities" },
			});
			expect(await refusal(scene.claim({ capabilities: requiredCapabilities }))).toMatchObject({
				code: "invalid_input",
				details: { field: "capabilities" },
			});
		}
		const most = many.slice(0, 256);
		const id = await scene.create({ requiredCapabilities: most });
		expect(await ids(scene, most)).toEqual([id]);
	});

	test("work nobody present can serve hides nothing behind it", async (scene) => {
		await scene.backend.executions.createMany(
			Array.from({ length: 600 }, (_, n) => ({
				kind: `k${n % 3}`,
				priority: 9,
				requiredCapabilities: [`c${n % 7}`, "none"],
			})),
		);
		const id = await scene.create({ requiredCapabilities: ["c1"] });
		expect(await ids(scene, ["c1"])).toEqual([id]);
		const plain = await scene.create();
		expect(await ids(scene, undefined, 1)).toEqual([plain]);
	});

	test("order in a lane goes over kinds and capabilities", async (scene) => {
		const made: string[] = [];
		for (let n = 0; n < 12; n++) {
			await scene.clock.advance(1);
			const requiredCapabilities = n % 3 === 0 ? [] : [`c${n % 3}`];
			made.push(await scene.create({ kind: `k${n % 4}`, requiredCapabilities }));
		}
		const order: string[] = [];
		for (let n = 0; n < 12; n++) order.push(...(await ids(scene, ["c1", "c2"], 1)));
		expect(order).toEqual(made);
	});

	test("kinds and capabilities must both fit", async (scene) => {
		await scene.create({ kind: "a", requiredCapabilities: ["gpu"] });
		const b = await scene.create({ kind: "b", requiredCapabilities: ["gpu"] });
		expect(await scene.claim({ kinds: ["b"], max: 9 })).toEqual([]);
		const claimed = await scene.claim({ kinds: ["b"], capabilities: ["gpu"], max: 9 });
		expect(claimed.map(({ id }) => id)).toEqual([b]);
	});

	test("a waiting claim is woken by work it can serve, not by other work", async (scene) => {
		const waiting = scene.claim({ capabilities: ["gpu"], waitMs: 30_000 });
		await scene.clock.settle();
		await scene.create({ requiredCapabilities: ["tpu"] });
		const id = await scene.create({ requiredCapabilities: ["gpu"] });
		expect((await waiting).map((each) => each.id)).toEqual([id]);
	});

	test("work that comes back goes only to the capable again", async (scene) => {
		const held = await scene.start({ requiredCapabilities: ["gpu"] }, { capabilities: ["gpu"] });
		await scene.backend.leases.release(held.id, { fence: held.fence });
		expect(await ids(scene, [])).toEqual([]);
		expect(await ids(scene, ["gpu"])).toEqual([held.id]);
		await scene.clock.advance(30_001);
		expect(await ids(scene, [])).toEqual([]);
		expect(await ids(scene, ["gpu"])).toEqual([held.id]);
	});

	test("what is required is part of what an idempotency key stands for", async (scene) => {
		const request = { idempotencyKey: "k", requiredCapabilities: ["gpu"] };
		const id = await scene.create(request);
		expect(await scene.create(request)).toBe(id);
		expect(await refusal(scene.create({ ...request, requiredCapabilities: ["tpu"] }))).toMatchObject({
			code: "idempotency_conflict",
		});
	});

	test("capabilities of one tenant serve nobody else's work", async (scene) => {
		await scene.create({ namespace: "a", requiredCapabilities: ["gpu"] });
		expect(await scene.claim({ namespace: "b", capabilities: ["gpu"] })).toEqual([]);
		expect(await scene.claim({ namespace: "a", capabilities: ["gpu"] })).toHaveLength(1);
	});
}
