import { expect } from "vitest";
import { type Case, put, unit } from "../trial.ts";

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

export function blobCases(test: Case): void {
	test("an absent blob is undefined", async (trial) => {
		expect((await trial.store.readBlobs(trial.home, ["a", "b"])).blobs).toEqual([undefined, undefined]);
	});

	test("every byte is kept", async (trial) => {
		const all = Array.from({ length: 256 }, (_, n) => n);
		await trial.apply([unit({ blobs: [{ key: "a", bytes: bytes(...all, ...all.toReversed()) }] })]);
		expect(await trial.blob("a")).toEqual([...all, ...all.toReversed()]);
	});

	test("an empty blob is there", async (trial) => {
		await trial.apply([unit({ blobs: [{ key: "a", bytes: bytes() }] })]);
		expect(await trial.blob("a")).toEqual([]);
	});

	test("a mebibyte is kept", async (trial) => {
		const large = Uint8Array.from({ length: 1024 * 1024 }, (_, n) => (n * 31 + (n >> 8)) % 256);
		await trial.apply([unit({ blobs: [{ key: "a", bytes: large }] })]);
		const [found] = (await trial.store.readBlobs(trial.home, ["a"])).blobs;
		expect(Buffer.compare(found ?? bytes(), large)).toBe(0);
	});

	test("a blob that is part of a larger buffer is kept without its surroundings", async (trial) => {
		const part = bytes(9, 9, 1, 2, 3, 9, 9).subarray(2, 5);
		await trial.apply([unit({ blobs: [{ key: "a", bytes: part }] })]);
		expect(await trial.blob("a")).toEqual([1, 2, 3]);
	});

	test("blobs come in the order asked for", async (trial) => {
		await trial.apply([
			unit({
				blobs: [
					{ key: "a", bytes: bytes(1) },
					{ key: "b", bytes: bytes(2) },
				],
			}),
		]);
		const { blobs } = await trial.store.readBlobs(trial.home, ["b", "x", "a", "b"]);
		expect(blobs.map((blob) => blob && [...blob])).toEqual([[2], undefined, [1], [2]]);
	});

	test("a blob is replaced, and removed", async (trial) => {
		await trial.apply([unit({ blobs: [{ key: "a", bytes: bytes(1) }] })]);
		await trial.apply([unit({ blobs: [{ key: "a", bytes: bytes(2, 2) }] })]);
		expect(await trial.blob("a")).toEqual([2, 2]);
		await trial.apply([unit({ blobsRemoved: ["a", "never"] })]);
		expect(await trial.blob("a")).toBeUndefined();
	});

	test("a blob and a record of the same key have nothing to do with each other", async (trial) => {
		const version = await trial.apply([put("a", "doc")]);
		await trial.apply([unit({ blobs: [{ key: "a", bytes: bytes(1) }] })]);
		expect(await trial.record("a")).toEqual({ key: "a", version, doc: "doc" });
		await trial.apply([unit({ blobsRemoved: ["a"] })]);
		expect((await trial.record("a")).version).toBe(version);
	});
}
