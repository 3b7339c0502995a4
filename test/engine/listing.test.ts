import { expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { makeId } from "../../src/kernel/ids.ts";
import { encode, placement } from "../../src/kernel/record-types.ts";
import { type ExecutionRecord, executionKey, makeExecution } from "../../src/kernel/records/execution.ts";
import { ended } from "../../src/kernel/state.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { unitOf } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const SLOT = 5;
const uuid = (n: number): string => n.toString(16).padStart(32, "0");

/** A store that counts what it is asked for, with executions that were there before. */
async function stage(partitions: number) {
	const clock = new VirtualClock();
	const store = new MemoryStore(partitions, clock.now);
	const asked = { entries: 0, records: 0 };
	const { first, read } = store;
	store.first = async (...question) => {
		const answer = await first.apply(store, question);
		asked.entries += answer.entries.length;
		return answer;
	};
	store.read = (partition, keys) => {
		asked.records += keys.length;
		return read.call(store, partition, keys);
	};
	let written = 0;
	const write = async (fields: Partial<ExecutionRecord>) => {
		const id = makeId("ex", uuid(++written), SLOT);
		const record = makeExecution({ id, kind: "job", ...fields });
		const indexAdded = placement(id, record).map((place) => ({ ...place, key: id }));
		const unit = unitOf({ put: [{ key: executionKey(id), doc: encode(id, record) }], indexAdded });
		const batch = { engine: "earlier", number: written, at: clock.now(), units: [unit] };
		await store.commit(SLOT % partitions, batch);
		return id;
	};
	const engine = new Engine({ store, clock });
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	// The key of cursors is read once, not for each list.
	await engine.cursors.encode("nothing", []);
	asked.records = 0;
	return { asked, write, backend };
}

it("bounds of time are looked up, not searched for", async () => {
	const { asked, write, backend } = await stage(1);
	const ids: string[] = [];
	for (let n = 0; n < 3000; n++) ids.push(await write({ createdAt: 1000 + n }));
	const { executions } = await backend.executions.list({ createdAfter: 1005, createdBefore: 1010, kind: "job" });
	expect(executions.map(({ id }) => id)).toEqual(ids.slice(5, 10).reverse());
	// And the state of the lane they wait in.
	expect(asked.records).toBe(5 + 1);
	expect(asked.entries).toBeLessThan(300);
	await backend.close();
});

it("a call looks at a few thousand records at most, whatever it is asked for", async () => {
	const { asked, write, backend } = await stage(1);
	const rare = await write({ createdAt: 1, kind: "rare" });
	for (let n = 0; n < 6000; n++) await write({ createdAt: 1000 + n });
	let calls = 0;
	let cursor: string | undefined;
	const found: string[] = [];
	do {
		asked.records = 0;
		const page = await backend.executions.list({ kind: "rare", limit: 1000, ...(cursor ? { cursor } : undefined) });
		expect(asked.records).toBeLessThanOrEqual(2500);
		found.push(...page.executions.map(({ id }) => id));
		cursor = page.nextCursor;
		calls += 1;
	} while (cursor !== undefined);
	expect(found).toEqual([rare]);
	expect(calls).toBeGreaterThan(1);
	await backend.close();
});

it("a page of several states costs by the page, however much there is of each", async () => {
	const { asked, write, backend } = await stage(1);
	const ids: string[] = [];
	for (let n = 0; n < 3000; n++) {
		const state = n % 3 ? ended(n % 3 === 1 ? "failed" : "cancelled", true) : undefined;
		ids.unshift(await write({ createdAt: 1000 + n, ...state }));
	}
	const { executions } = await backend.executions.list({ state: ["open", "failed", "cancelled"], limit: 10 });
	expect(executions.map(({ id }) => id)).toEqual(ids.slice(0, 10));
	// And the state of the lane that some of them wait in.
	expect(asked.records).toBe(10 + 1);
	expect(asked.entries).toBe(3 * 11);
	await backend.close();
});

it("what is a member of a flow says so, and so do its events", async () => {
	const { write, backend } = await stage(8);
	const mine = makeId("fl", uuid(1), SLOT);
	const member = await write({ createdAt: 1000, flowId: mine });
	const { executions } = await backend.executions.list({});
	expect(executions.map(({ id, flowId }) => [id, flowId])).toEqual([[member, mine]]);
	await backend.executions.cancel(member);
	expect((await backend.executions.events(member)).events).toMatchObject([{ type: "cancelled", flowId: mine }]);
	await backend.close();
});

it("what changes its state while lists are read is on them all the same", async () => {
	const clock = new VirtualClock();
	const store = new MemoryStore(1, clock.now);
	const engine = new Engine({ store, clock });
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	const { id } = await backend.executions.create({ kind: "job" });
	const { queues } = store;
	store.queues = async (...question) => {
		const answer = await queues.apply(store, question);
		store.queues = queues;
		// It leaves the queue that is about to be read for one that was not there yet.
		await backend.executions.cancel(id);
		return answer;
	};
	expect((await backend.executions.list({})).executions).toMatchObject([{ id, publicState: "cancelled" }]);
});
