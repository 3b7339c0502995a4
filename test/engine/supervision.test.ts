import { afterEach, describe, expect, it } from "vitest";
import type { Fault } from "../../src/engine/fault-log.ts";
import { unitOf } from "../../src/store/port.ts";
import { EngineGroup, type Member } from "./engine-group.ts";

const SWEEP_MS = 300_000;
let group: EngineGroup;
let faults: string[];
let parked: Fault[];
afterEach(() => group.close());

async function begin(partitions = 1): Promise<Member> {
	group = new EngineGroup(partitions);
	faults = [];
	parked = [];
	const onFault = (fault: Fault) => {
		faults.push(fault.about);
		if (fault.about === "items that keep failing are parked for a minute") parked.push(fault);
	};
	return group.start("one", { onFault });
}

const rowOf = async ({ backend }: Member, row: string) =>
	(await backend.admin.scanners()).scanners.find(({ name }) => name === row);

let written = 0;
/** Puts something else where a record was, and gives back what was there. */
async function overwrite(key: string, doc: string): Promise<string> {
	const { records, time } = await group.store.read(0, [key]);
	const units = [unitOf({ put: [{ key, doc }] })];
	await group.store.commit(0, { engine: "hand", number: ++written, at: time, units });
	return records[0]?.doc ?? "";
}

describe("an item that keeps failing", () => {
	it("is parked for a minute after the third time, told of, and then tried again", async () => {
		const member = await begin();
		const { id } = await member.backend.executions.create({ kind: "job", delayMs: 1000 });
		const sound = await overwrite(id, "not a record");
		await group.clock.advance(3100);
		expect(await rowOf(member, "due")).toMatchObject({ errors: 3, parked: 1 });
		expect(parked).toMatchObject([{ subjects: [id], count: 1 }]);
		await overwrite(id, sound);
		await group.clock.advance(59_000);
		expect((await member.backend.executions.get(id)).publicState).toBe("delayed");
		expect(await rowOf(member, "due")).toMatchObject({ errors: 3, parked: 1 });
		await group.clock.advance(1500);
		expect((await member.backend.executions.get(id)).publicState).toBe("waiting");
		expect(await rowOf(member, "due")).toMatchObject({ errors: 3, parked: 0 });
	});

	it("is parked again when it fails on, and those behind it are done in time all the while", async () => {
		const member = await begin();
		const bad = await Promise.all(
			Array.from({ length: 300 }, () => member.backend.executions.create({ kind: "job", delayMs: 500 })),
		);
		for (const { id } of bad) await overwrite(id, "not a record");
		for (const delayMs of [1000, 5000, 70_000]) {
			const { id } = await member.backend.executions.create({ kind: "job", delayMs });
			await group.clock.advance(delayMs + 50);
			expect((await member.backend.executions.get(id)).publicState).toBe("waiting");
		}
		expect(await rowOf(member, "due")).toMatchObject({ parked: 300 });
		// One line at once, one for all the others a minute later, and so on.
		await group.clock.advance(60_000);
		expect(parked.map(({ count }) => count)).toEqual([1, 299, 300]);
	});
});

describe("a scanner that breaks down", () => {
	it("goes on with what is due a second later, and counts it", async () => {
		const member = await begin();
		const { id } = await member.backend.executions.create({ kind: "job", delayMs: 1000 });
		const { first } = group.store;
		group.store.first = async () => {
			throw new TypeError("a mistake in the program");
		};
		await group.clock.advance(1500);
		group.store.first = first;
		expect((await rowOf(member, "due"))?.errors).toBeGreaterThan(0);
		await group.clock.advance(1000);
		expect((await member.backend.executions.get(id)).publicState).toBe("waiting");
	});

	it("keeps no other from its turn, and comes to its own with the next sweep", async () => {
		const member = await begin();
		const { queues } = group.store;
		group.store.queues = async (partition, prefix) => {
			if (prefix === "blocked,") throw new TypeError("a mistake in the program");
			return queues.call(group.store, partition, prefix);
		};
		await group.clock.advance(SWEEP_MS + 1000);
		expect(await rowOf(member, "unblock")).toMatchObject({ runs: 0, errors: 1 });
		expect(await rowOf(member, "index_reconciler")).toMatchObject({ runs: 1, errors: 0 });
		expect(faults).toEqual(["blocked work could not be checked"]);
		group.store.queues = queues;
		await group.clock.advance(SWEEP_MS);
		expect(await rowOf(member, "unblock")).toMatchObject({ runs: 1, errors: 1 });
	});

	it("is followed by the next sweep though the whole of one broke down", async () => {
		const member = await begin();
		const { watchers } = member.engine;
		const { changedAll } = watchers;
		watchers.changedAll = () => {
			throw new TypeError("a mistake in the program");
		};
		await group.clock.advance(SWEEP_MS + 1000);
		expect(faults).toEqual(["the sweep failed and will be repeated"]);
		watchers.changedAll = changedAll;
		await group.clock.advance(SWEEP_MS);
		expect(await rowOf(member, "event_trimmer")).toMatchObject({ runs: 1 });
	});
});
