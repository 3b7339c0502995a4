import { expect } from "vitest";
import { type Case, entry, event, gone, put, type Trial, unit } from "../trial.ts";

const others = (trial: Trial): number[] => Array.from({ length: trial.partitions - 1 }, (_, n) => n);

async function fillHome(trial: Trial): Promise<void> {
	await trial.apply([
		unit({
			put: [{ key: "a", doc: "home" }],
			indexAdded: [entry("q", 1, "a")],
			events: [event("o", "home")],
			blobs: [{ key: "b", bytes: Buffer.from("home") }],
		}),
	]);
}

export function partitionCases(test: Case): void {
	test("a store has the partitions it was made with", async (trial) => {
		expect(trial.store.partitions).toBe(trial.partitions);
		expect(trial.store.writesPerBatch).toBeGreaterThanOrEqual(1);
	});

	test("a partition that does not exist is refused", async (trial) => {
		for (const partition of [trial.partitions, -1]) {
			await expect((async () => trial.store.read(partition, ["a"]))()).rejects.toThrow();
			await expect((async () => trial.commit([put("a", "1")], { partition }))()).rejects.toThrow();
		}
	});

	test("a partition sees nothing of the others", async (trial) => {
		await fillHome(trial);
		for (const partition of others(trial)) {
			expect((await trial.record("a", partition)).version).toBe(0);
			expect(await trial.keys("q", 10, partition)).toEqual([]);
			expect(await trial.queues("", partition)).toEqual([]);
			expect(await trial.bodies("o", partition)).toEqual([]);
			expect(await trial.bodies(undefined, partition)).toEqual([]);
			expect(await trial.blob("b", partition)).toBeUndefined();
			expect(await trial.records(partition)).toEqual([]);
			expect(await trial.blobKeys(partition)).toEqual([]);
		}
	});

	test("a partition changes nothing in the others", async (trial) => {
		await fillHome(trial);
		for (const partition of others(trial)) {
			await trial.apply(
				[
					unit({
						expected: [["a", 0]],
						put: [{ key: "a", doc: "there" }],
						indexRemoved: [entry("q", 1, "a")],
						forgotten: gone("o"),
						blobsRemoved: ["b"],
					}),
				],
				{ partition },
			);
			await trial.store.trimEvents(partition, 1e12);
		}
		expect((await trial.record("a")).doc).toBe("home");
		expect(await trial.keys("q")).toEqual(["a"]);
		expect(await trial.bodies("o")).toEqual(["home"]);
		expect(await trial.blob("b")).toEqual([...Buffer.from("home")]);
	});

	test("each partition counts its own commits", async (trial) => {
		for (let n = 0; n < 3; n++) await trial.apply([put(`key-${n}`, "")]);
		const first = await trial.apply([put("x", "")], { engine: "other" });
		for (const partition of others(trial)) expect(await trial.apply([put("a", "")], { partition })).toBeLessThan(first);
	});

	test("an engine's batch numbers are each partition's own", async (trial) => {
		await trial.apply([put("a", "home")], { number: 7 });
		for (const partition of others(trial)) {
			await trial.apply([put("a", "there")], { partition, number: 7 });
			expect((await trial.record("a", partition)).doc).toBe("there");
		}
		expect((await trial.commit([put("a", "again")], { number: 7 })).results).toEqual([{ ok: true }]);
		expect((await trial.record("a")).doc).toBe("home");
	});
}
