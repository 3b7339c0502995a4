import { afterEach, expect, it } from "vitest";
import { EngineGroup } from "./engine-group.ts";

const who = { workerId: "w", instanceId: "i" };

let group: EngineGroup;
afterEach(() => group.close());

/** Two engines that know of each other that they are claimed from. */
async function bothClaimedFrom() {
	group = new EngineGroup(8);
	const [one, two] = [await group.start("one"), await group.start("two")];
	const leave = new AbortController();
	const waiting = [one, two].map(({ backend }) => backend.leases.claim({ ...who, waitMs: 30_000 }, leave.signal));
	await group.meet();
	leave.abort();
	await Promise.all(waiting);
	return { one, two };
}

/** Each of two engines gets work of its own, `two` so much later than `one`. */
async function bothWithWork(laterMs: number) {
	const { one, two } = await bothClaimedFrom();
	const { clock } = group;
	const [older] = await one.backend.executions.createMany([{ kind: "job" }]);
	await clock.advance(laterMs);
	const own = await two.backend.executions.createMany(Array.from({ length: 4 }, () => ({ kind: "job" })));
	await clock.advance(500);
	const made = [older, ...own].map((result) => (result?.ok ? result.id : ""));
	/** Which of them a claim of `two` gets. */
	const taken = async () => {
		const [execution] = await two.backend.leases.claim(who);
		return made.indexOf(execution?.id ?? "");
	};
	return { taken, turn: () => clock.advance(250) };
}

it("work that waits for another engine's busy workers comes before what is much younger", async () => {
	const { taken } = await bothWithWork(1100);
	expect(await taken()).toBe(0);
	expect(await taken()).toBe(1);
});

it("work of another engine that is hardly older is left to it while there is other work", async () => {
	const { taken, turn } = await bothWithWork(900);
	for (const own of [1, 2, 3, 4]) {
		expect(await taken()).toBe(own);
		await turn();
	}
	expect(await taken()).toBe(0);
});

it("new work of another engine is there at once for a claim that does not wait", async () => {
	const { one, two } = await bothClaimedFrom();
	// The first claim of a while looks everywhere; what is asked here is what the others do.
	expect(await two.backend.leases.claim(who)).toEqual([]);
	const made = await one.backend.executions.createMany(Array.from({ length: 4 }, () => ({ kind: "job" })));
	const taken: string[] = [];
	for (const _ of made) for (const { id } of await two.backend.leases.claim(who)) taken.push(id);
	expect(taken.sort()).toEqual(made.map((result) => result.id).sort());
});
