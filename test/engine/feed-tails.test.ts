import { afterEach, expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const PARTITIONS = 4;
const READERS = 30;

const clock = new VirtualClock();
let opened: LocalBackend | undefined;
afterEach(() => opened?.close());

it("readers who wait at the end of a feed ask the store for new events, and for hardly anything else", async () => {
	const store = new MemoryStore(PARTITIONS, clock.now);
	const engine = new Engine({ store, clock });
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	opened = backend;
	const { nextCursor } = await backend.feed.read();
	const readers = Array.from({ length: READERS }, () => backend.feed.read({ cursor: nextCursor, waitMs: 30_000 }));
	await clock.settle();
	const asked: string[] = [];
	for (const name of ["read", "lastCommit", "events"] as const) {
		const call = store[name].bind(store) as (...given: unknown[]) => Promise<never>;
		store[name] = (...given: unknown[]) => {
			asked.push(name);
			return call(...given);
		};
	}
	const { id } = await backend.executions.create({ kind: "job" });
	await clock.settle();
	for (const { events } of await Promise.all(readers))
		expect(events.map(({ executionId }) => executionId)).toEqual([id]);
	const besides = asked.filter((name) => name !== "events");
	expect(besides.length).toBeLessThanOrEqual(2 * PARTITIONS);
});
