import { expect, it } from "vitest";
import { ENGINES_KEY } from "../../src/kernel/records/engines.ts";
import { MapPartition } from "./map-tx.ts";

const NOW = 1_700_000_000_000;

function stage() {
	const partition = new MapPartition();
	const announce = (engineId: string, at: number) => {
		const outcome = partition.run({ op: "announce", engineId, ttlMs: 2500, claims: ["default,x"] }, at);
		return outcome.ok ? outcome.engines : {};
	};
	const withdraw = (engineId: string, at: number) => partition.run({ op: "withdraw", engineId }, at);
	return { partition, announce, withdraw };
}

it("an engine hears of all others in the same step, with the time each counts as there", () => {
	const { announce } = stage();
	expect(announce("a", NOW)).toEqual({ a: { until: NOW + 2500, claims: ["default,x"] } });
	expect(Object.keys(announce("b", NOW + 10))).toEqual(["a", "b"]);
	expect(announce("a", NOW + 1000)).toMatchObject({ a: { until: NOW + 3500 }, b: { until: NOW + 2510 } });
});

it("one that fell silent is heard of for 10 seconds more, then forgotten", () => {
	const { announce } = stage();
	announce("a", NOW);
	expect(announce("b", NOW + 2500 + 9999)).toHaveProperty("a");
	expect(announce("b", NOW + 2500 + 10_000)).not.toHaveProperty("a");
});

it("one that leaves is forgotten at once, and the last takes the record with it", () => {
	const { partition, announce, withdraw } = stage();
	announce("a", NOW);
	announce("b", NOW);
	withdraw("a", NOW + 1);
	expect(partition.read(ENGINES_KEY)?.engines).not.toHaveProperty("a");
	withdraw("a", NOW + 2);
	withdraw("b", NOW + 3);
	expect(partition.docs.size).toBe(0);
});
