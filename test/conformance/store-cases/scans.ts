import { expect } from "vitest";
import { type Case, put, remove, type Trial, unit } from "../trial.ts";

export function scanCases(test: Case): void {
	test("a scan of nothing is empty", async (trial) => {
		expect(await trial.records()).toEqual([]);
		expect(await trial.blobKeys()).toEqual([]);
	});

	test("records are shown with version and document", async (trial) => {
		const first = await trial.apply([put("b", "B"), put("a", "A")]);
		const second = await trial.apply([put("c", "C"), put("B", "large")]);
		expect(await trial.records()).toEqual([
			{ key: "B", version: second, doc: "large" },
			{ key: "a", version: first, doc: "A" },
			{ key: "b", version: first, doc: "B" },
			{ key: "c", version: second, doc: "C" },
		]);
	});

	test("pages lead on to every record, and the last to none", async (trial) => {
		const keys = manyKeys("key");
		await trial.apply(keys.map((key) => put(key, key)));
		const { shown, pages } = await scanned(trial, 7);
		expect([...new Set(shown)].sort()).toEqual(keys);
		expect(pages).toBeGreaterThan(1);
	});

	test("what was there all the while is shown, whatever comes and goes meanwhile", async (trial) => {
		const keys = manyKeys("key");
		const version = await trial.apply(keys.map((key) => put(key, key)));
		const leaving = keys.filter((_, n) => n % 3 === 0);
		const { shown } = await scanned(trial, 7, async (pages) => {
			if (pages === 1) await trial.apply(manyKeys("late").map((key) => put(key, "")));
			if (pages === 2) await trial.apply(leaving.map((key) => remove(key, version)));
		});
		const staying = keys.filter((key) => !leaving.includes(key));
		expect(staying.filter((key) => !shown.includes(key))).toEqual([]);
	});

	test("a removed record is not scanned", async (trial) => {
		const version = await trial.apply([put("a", ""), put("b", "")]);
		await trial.apply([remove("a", version)]);
		expect((await trial.records()).map(({ key }) => key)).toEqual(["b"]);
	});

	test("keys of blobs are paged through", async (trial) => {
		const keys = manyKeys("blob");
		await trial.apply(keys.map((key) => unit({ blobs: [{ key, bytes: Buffer.from(key) }] })));
		await trial.apply([unit({ blobsRemoved: ["blob-007"] })]);
		expect(await trial.blobKeys()).toEqual(keys.filter((key) => key !== "blob-007"));
	});
}

/** So many that no store shows them on one page. */
const manyKeys = (name: string): string[] =>
	Array.from({ length: 3000 }, (_, n) => `${name}-${String(n).padStart(3, "0")}`).sort();

/** Every key a scan shows, and on how many pages. */
async function scanned(trial: Trial, count: number, between: (pages: number) => Promise<void> = async () => {}) {
	const shown: string[] = [];
	let pages = 0;
	let cursor: string | undefined;
	do {
		const page = await trial.store.scan(trial.home, cursor, count);
		shown.push(...page.records.map(({ key }) => key));
		cursor = page.cursor;
		await between(++pages);
	} while (cursor !== undefined);
	return { shown, pages };
}
