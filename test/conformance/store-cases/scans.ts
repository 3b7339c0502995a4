import { expect } from "vitest";
import { type Case, put, remove, unit } from "../trial.ts";

export function scanCases(test: Case): void {
	test("a scan of nothing is empty", async (trial) => {
		expect((await trial.store.scan(trial.home, undefined, 10)).records).toEqual([]);
		expect((await trial.store.scanBlobs(trial.home, undefined, 10)).keys).toEqual([]);
	});

	test("records come in the order of their keys, with version and document", async (trial) => {
		const first = await trial.apply([put("b", "B"), put("a", "A")]);
		const second = await trial.apply([put("c", "C"), put("B", "large")]);
		expect((await trial.store.scan(trial.home, undefined, 10)).records).toEqual([
			{ key: "B", version: second, doc: "large" },
			{ key: "a", version: first, doc: "A" },
			{ key: "b", version: first, doc: "B" },
			{ key: "c", version: second, doc: "C" },
		]);
	});

	test("a scan goes on behind a key, there or not", async (trial) => {
		await trial.apply([put("a", ""), put("c", ""), put("e", "")]);
		const after = async (key: string): Promise<string[]> =>
			(await trial.store.scan(trial.home, key, 10)).records.map((record) => record.key);
		expect(await after("a")).toEqual(["c", "e"]);
		expect(await after("b")).toEqual(["c", "e"]);
		expect(await after("")).toEqual(["a", "c", "e"]);
		expect(await after("e")).toEqual([]);
	});

	test("paging shows every record once, also those written meanwhile behind the cursor", async (trial) => {
		const keys = Array.from({ length: 100 }, (_, n) => `key-${String(n).padStart(3, "0")}`);
		await trial.apply(keys.toReversed().map((key) => put(key, key)));
		const seen: string[] = [];
		for (;;) {
			const page = (await trial.store.scan(trial.home, seen.at(-1), 7)).records;
			if (page.length === 0) break;
			seen.push(...page.map(({ key }) => key));
			if (seen.length === 14) await trial.apply([put("key-050b", ""), put("key-000b", "")]);
		}
		expect(seen).toEqual([...keys, "key-050b"].sort());
	});

	test("a removed record is not scanned", async (trial) => {
		const version = await trial.apply([put("a", ""), put("b", "")]);
		await trial.apply([remove("a", version)]);
		expect((await trial.store.scan(trial.home, undefined, 10)).records.map(({ key }) => key)).toEqual(["b"]);
	});

	test("keys of blobs are paged through in order", async (trial) => {
		const keys = Array.from({ length: 25 }, (_, n) => `blob-${String(n).padStart(2, "0")}`);
		await trial.apply(keys.toReversed().map((key) => unit({ blobs: [{ key, bytes: Buffer.from(key) }] })));
		await trial.apply([unit({ blobsRemoved: ["blob-07"] })]);
		const seen: string[] = [];
		for (;;) {
			const page = (await trial.store.scanBlobs(trial.home, seen.at(-1), 4)).keys;
			if (page.length === 0) break;
			seen.push(...page);
		}
		expect(seen).toEqual(keys.filter((key) => key !== "blob-07"));
	});
}
