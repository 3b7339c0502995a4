import { expect } from "vitest";
import { type PublicCase, refusal } from "../scene.ts";

const openai = { id: "openai", rate: { max: 100, windowMs: 1000 }, concurrency: 5 };

/** Quotas as objects; what they let run is told elsewhere. */
export function quotaCases(test: PublicCase): void {
	test("a quota is made with what is said of it, and read", async (scene) => {
		const made = await scene.ff.quotas.create({ ...openai, jitterMs: 20 });
		const quota = {
			id: "openai",
			namespace: "default",
			rate: { max: 100, windowMs: 1000, counted: 0 },
			concurrency: { max: 5, held: 0 },
			holdWhileSuspended: false,
			jitterMs: 20,
			waiting: 0,
			createdAt: scene.now,
			holders: [],
			holdersMore: 0,
		};
		expect(made).toEqual({ ...quota, created: true });
		expect(await scene.ff.quotas.get("openai")).toEqual(quota);
	});

	test("a quota has a rate, or slots, or both", async (scene) => {
		expect(await scene.ff.quotas.create({ id: "r", rate: { max: 1, windowMs: 1 } })).not.toHaveProperty("concurrency");
		expect(await scene.ff.quotas.create({ id: "c", concurrency: 1 })).not.toHaveProperty("rate");
		expect((await refusal(scene.ff.quotas.create({ id: "none" }))).code).toBe("invalid_input");
	});

	test("one that exists is made again by the same definition, and not by another", async (scene) => {
		await scene.ff.quotas.create(openai);
		const same = {
			id: "openai",
			concurrency: 5,
			rate: { windowMs: 1000, max: 100 },
			jitterMs: 0,
			holdWhileSuspended: false,
		};
		expect(await scene.ff.quotas.create(same)).toMatchObject({ created: false });
		for (const other of [
			{ ...openai, concurrency: 6 },
			{ id: "openai", concurrency: 5 },
			{ ...openai, jitterMs: 1 },
		]) {
			expect(await refusal(scene.ff.quotas.create(other))).toMatchObject({ code: "already_exists", status: 409 });
		}
	});

	test("quotas are listed in the order they were made, page by page, without their holders", async (scene) => {
		const names = Array.from({ length: 12 }, (_, n) => `quota-${(n * 5) % 12}`);
		for (const id of names) {
			await scene.ff.quotas.create({ ...openai, id });
			await scene.clock.advance(1);
		}
		const first = await scene.ff.quotas.list({ limit: 7 });
		const second = await scene.ff.quotas.list({ limit: 7, cursor: first.nextCursor as string });
		expect([...first.quotas, ...second.quotas].map(({ id }) => id)).toEqual(names);
		expect(second.nextCursor).toBeUndefined();
		const { holders: _, holdersMore: __, ...shown } = await scene.ff.quotas.get("quota-0");
		expect(first.quotas[0]).toEqual(shown);
	});

	test("namespaces have quotas of their own", async (scene) => {
		await scene.ff.quotas.create({ ...openai, namespace: "a" });
		expect((await refusal(scene.ff.quotas.get("openai"))).code).toBe("quota_not_found");
		expect(await scene.ff.quotas.list()).toEqual({ quotas: [] });
		const bob = scene.as({ actor: "bob", namespace: "b" });
		expect((await refusal(bob.quotas.get("openai"))).code).toBe("quota_not_found");
		expect((await refusal(bob.quotas.delete("openai", { namespace: "a" }))).code).toBe("forbidden");
		expect(await bob.quotas.create(openai)).toMatchObject({ namespace: "b", created: true });
		expect(await scene.ff.quotas.get("openai", { namespace: "a" })).toMatchObject({ namespace: "a" });
	});

	test("a patch changes what is given and leaves the rest", async (scene) => {
		await scene.ff.quotas.create(openai);
		expect(await scene.ff.quotas.patch("openai", { concurrency: 9 })).toMatchObject({
			rate: { max: 100 },
			concurrency: { max: 9 },
		});
		const patched = await scene.ff.quotas.patch("openai", { rate: { max: 1, windowMs: 5 }, jitterMs: 7 });
		expect(patched).toMatchObject({ rate: { max: 1, windowMs: 5 }, concurrency: { max: 9 }, jitterMs: 7 });
		expect(await scene.ff.quotas.get("openai")).toEqual(patched);
	});

	test("a patch of null takes a limit away, but not the last", async (scene) => {
		await scene.ff.quotas.create(openai);
		expect(await scene.ff.quotas.patch("openai", { rate: null })).not.toHaveProperty("rate");
		expect(await refusal(scene.ff.quotas.patch("openai", { concurrency: null }))).toMatchObject({
			code: "quota_without_limit",
			status: 409,
		});
		const turned = await scene.ff.quotas.patch("openai", { concurrency: null, rate: { max: 3, windowMs: 10 } });
		expect(turned).toMatchObject({ rate: { max: 3, windowMs: 10, counted: 0 } });
		expect(turned).not.toHaveProperty("concurrency");
	});

	test("a quota that is deleted is not there any more, and may be made anew", async (scene) => {
		await scene.ff.quotas.create(openai);
		expect(await scene.ff.quotas.delete("openai")).toEqual({ deleted: true });
		for (const call of [
			() => scene.ff.quotas.get("openai"),
			() => scene.ff.quotas.delete("openai"),
			() => scene.ff.quotas.patch("openai", { concurrency: 1 }),
			() => scene.create({ quotas: ["openai"] }),
		]) {
			expect(await refusal(call())).toMatchObject({ code: "quota_not_found", status: 404 });
		}
		expect(await scene.ff.quotas.list()).toEqual({ quotas: [] });
		expect(await scene.ff.quotas.create({ id: "openai", concurrency: 1 })).toMatchObject({ created: true });
		await scene.create({ quotas: ["openai"] });
	});
}
