import { afterEach, beforeEach, expect, it } from "vitest";
import { MAX_PARTITIONS_PER_SCAN } from "../../src/engine/claims/partition-scan.ts";
import { EngineGroup, type Member } from "./engine-group.ts";

let group: EngineGroup;
const claim = { workerId: "w", instanceId: "i" };

beforeEach(() => {
	group = new EngineGroup(MAX_PARTITIONS_PER_SCAN);
});
afterEach(() => group.close());

/** Work under keys, one by one, so that it comes to lie in many partitions; what lies where is left to the engine. */
async function submitAt({ backend }: Member, keys: readonly string[]): Promise<Map<string, string>> {
	const made = new Map<string, string>();
	for (const fairnessKey of keys)
		made.set((await backend.executions.create({ kind: "job", fairnessKey })).id, fairnessKey);
	return made;
}

it("keys take turns though each has work in nearly every partition", async () => {
	const engine = await group.start("one");
	const made = await submitAt(engine, [...Array(60).fill("a"), ...Array(60).fill("b")]);
	expect(new Set([...made.keys()].map((id) => engine.engine.partitionOf(id))).size).toBeGreaterThan(16);
	const byKey = { a: 0, b: 0 };
	const count = async (max: number): Promise<typeof byKey> => {
		for (const { id } of await engine.backend.leases.claim({ ...claim, max })) byKey[made.get(id) as "a" | "b"] += 1;
		return byKey;
	};
	const { a, b } = await count(40);
	expect(a + b).toBe(40);
	expect(Math.abs(a - b)).toBeLessThanOrEqual(4);
	// One at a time, and no time passes.
	for (let n = 0; n < 20; n++) await count(1);
	expect(Math.abs(byKey.a - byKey.b)).toBeLessThanOrEqual(4);
});

it("a key is not hidden behind one that was served elsewhere", async () => {
	const engine = await group.start("one");
	const made = await submitAt(engine, [...Array(320).fill("big"), ...Array(6).fill("small")]);
	const order: (string | undefined)[] = [];
	for (let n = 0; n < 24; n++) {
		await group.clock.advance(5);
		for (const { id } of await engine.backend.leases.claim({ ...claim, max: 1 })) order.push(made.get(id));
	}
	expect(order.filter((key) => key === "small")).toHaveLength(6);
});
