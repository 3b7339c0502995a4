import { afterEach, beforeEach, expect, it } from "vitest";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { CURSOR_KEY } from "../../src/kernel/records/cursor-key.ts";
import { StoreError, unitOf } from "../../src/store/port.ts";
import { EngineGroup } from "./engine-group.ts";

let group: EngineGroup;

beforeEach(() => {
	group = new EngineGroup(2);
});

afterEach(() => group.close());

const keyOf = async (): Promise<string> => (await group.store.read(0, [CURSOR_KEY])).records[0]?.doc ?? "";

/** Writes a document as somebody beside the engines would. */
async function store(doc: string): Promise<void> {
	const { time, records } = await group.store.read(0, [CURSOR_KEY]);
	const unit = unitOf({ expected: [[CURSOR_KEY, records[0]?.version ?? 0]], put: [{ key: CURSOR_KEY, doc }] });
	const { results } = await group.store.commit(0, { engine: "somebody", number: 1, at: time, units: [unit] });
	expect(results).toMatchObject([{ ok: true }]);
}

const feedEnd = async (backend: LocalBackend): Promise<string> => (await backend.feed.read()).nextCursor;

it("engines that start at the same moment read each other's cursors", async () => {
	const all = await Promise.all(["a", "b", "c"].map((name) => group.start(name)));
	for (const { backend } of all) {
		const cursor = await feedEnd(backend);
		for (const other of all) expect((await other.backend.feed.read({ cursor })).events).toEqual([]);
	}
});

it.each(['{"secretHex":"', "{}", '{"secretHex":"ab"}'])(
	"a key that holds %s is replaced by the next engine that starts",
	async (doc) => {
		const one = await group.start("one");
		const lost = await feedEnd(one.backend);
		await store(doc);
		const faults: string[] = [];
		const two = await group.start("two", { onFault: ({ about }) => faults.push(about) });
		await expect(two.backend.feed.read({ cursor: lost })).rejects.toMatchObject({ code: "cursor_expired" });
		// The engine that was there is told: both read the cursors of either.
		const cursors = [await feedEnd(one.backend), await feedEnd(two.backend)];
		for (const cursor of cursors) for (const { backend } of [one, two]) await backend.feed.read({ cursor });
		expect(await keyOf()).toMatch(/[0-9a-f]{64}/);
		expect(faults).not.toEqual([]);
	},
);

it("an engine that was not told of a new key finds it when it gets a cursor of it", async () => {
	const one = await group.start("one");
	const lost = await feedEnd(one.backend);
	one.isDeaf = true;
	await store(JSON.stringify({ secretHex: "7".repeat(64) }));
	const two = await group.start("two");
	const cursor = await feedEnd(two.backend);
	expect(cursor.slice(0, 8)).not.toBe(lost.slice(0, 8));
	expect((await one.backend.feed.read({ cursor })).nextCursor).toBe(cursor);
});

it("cursors of another store make an engine look for a new key once a second at most", async () => {
	const one = await group.start("one");
	const cursor = `elswhere${(await feedEnd(one.backend)).slice(8)}`;
	const { commands } = one.engine.counters;
	for (let n = 0; n < 20; n++) {
		await expect(one.backend.feed.read({ cursor })).rejects.toMatchObject({ code: "cursor_expired" });
	}
	expect(one.engine.counters.commands - commands).toBeLessThanOrEqual(1);
});

it("an engine starts without a key if the store takes none, and makes one when it is needed", async () => {
	const faults: string[] = [];
	const { commit } = group.store;
	group.store.commit = () => Promise.reject(new StoreError("full", { applied: "no", passing: false }));
	const one = await group.start("one", { onFault: ({ about }) => faults.push(about) });
	expect(faults).toContain("the key of cursors could not be read");
	await expect(feedEnd(one.backend)).rejects.toMatchObject({ code: "store_unavailable" });
	group.store.commit = commit;
	await one.backend.feed.read({ cursor: await feedEnd(one.backend) });
});
