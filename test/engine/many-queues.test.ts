import { describe, expect, it } from "vitest";
import { WaitingClaims } from "../../src/engine/claims/waiting-claims.ts";
import type { Wanted } from "../../src/engine/claims/work-hints.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { stage } from "./watched-store.ts";

const MANY = 2000;

/** One execution for each number, made by a thousand at a time. */
async function submit(backend: LocalBackend, count: number, item: (n: number) => object): Promise<string[]> {
	const ids: string[] = [];
	for (let from = 0; from < count; from += 1000) {
		const numbers = Array.from({ length: Math.min(1000, count - from) }, (_, n) => from + n);
		const made = await backend.executions.createMany(numbers.map((n) => ({ kind: "job", ...item(n) })));
		for (const { id = "" } of made) ids.push(id);
	}
	return ids;
}

const worker = { workerId: "w", instanceId: "i" };

describe(`a lane in which ${MANY} kinds wait`, () => {
	it("a claim for any kind looks into a bounded number of queues, a few at a time, and gets work", async () => {
		const { backend, store, start } = await stage();
		await submit(backend, MANY, (n) => ({ kind: `kind-${n}` }));
		// One that has just started knows the names of the queues, and none of their heads.
		const fresh = await start();
		store.askedSince();
		expect(await fresh.leases.claim(worker)).toHaveLength(1);
		const { first } = store.askedSince();
		expect(first.calls).toBeLessThanOrEqual(300);
		expect(first.atOnce).toBeLessThanOrEqual(64);
	});

	it("claims that follow each other look into others, until all has been given out", async () => {
		const { backend, start } = await stage({ partitions: 2 });
		const ids = await submit(backend, MANY, (n) => ({ kind: `kind-${n}` }));
		const fresh = await start();
		const taken = new Set<string>();
		for (let calls = 0; taken.size < MANY; calls++) {
			for (const { id } of await fresh.leases.claim({ ...worker, max: 50 })) taken.add(id);
			expect(calls).toBeLessThan(200);
		}
		expect([...taken].sort()).toEqual(ids.sort());
	});

	it("a kind whose queue is looked into last is not starved by those that come first", async () => {
		const { backend, start } = await stage();
		await submit(backend, MANY, (n) => ({ kind: `kind-${n}` }));
		const { id } = await backend.executions.create({ kind: "zz-last", priority: 9 });
		const fresh = await start();
		let calls = 0;
		for (let found = false; !found; calls++) {
			for (const claimed of await fresh.leases.claim(worker)) {
				found ||= claimed.id === id;
				// What it leaves behind is as unknown as before to the next.
				await submit(backend, 1, () => ({ kind: claimed.kind }));
			}
			expect(calls).toBeLessThan(20);
		}
	});

	it("whoever comes for one kind asks for that alone", async () => {
		const { backend, store, start } = await stage();
		await submit(backend, MANY, (n) => ({ kind: `kind-${n}` }));
		const fresh = await start();
		store.askedSince();
		expect(await fresh.leases.claim({ ...worker, kinds: ["kind-77"] })).toMatchObject([{ kind: "kind-77" }]);
		expect(store.askedSince().first.calls).toBeLessThan(10);
	});

	it("an explanation counts in a bounded number of queues, and says so", async () => {
		const { backend, store } = await stage();
		const ids = await submit(backend, MANY, (n) => ({ kind: `kind-${n}` }));
		store.askedSince();
		const { position } = await backend.executions.explain(ids.at(-1) ?? "");
		expect(position).toMatchObject({ exact: false });
		expect(position?.ahead).toBeGreaterThan(100);
		const { first } = store.askedSince();
		expect(first.calls).toBeLessThan(300);
		expect(first.atOnce).toBeLessThanOrEqual(8);
	});
});

describe(`${MANY} sets of required capabilities`, () => {
	it("16 claims at once examine a few of them each, and in the end all are set aside", async () => {
		const { backend, store, start } = await stage();
		await submit(backend, MANY, (n) => ({ requiredCapabilities: [`cap-${n}`] }));
		const fresh = await start();
		store.askedSince();
		const claims = (count: number) =>
			Promise.all(Array.from({ length: count }, (_, n) => fresh.leases.claim({ ...worker, instanceId: `i-${n}` })));
		expect((await claims(16)).flat()).toEqual([]);
		const { first, read } = store.askedSince();
		expect(first.atOnce).toBeLessThanOrEqual(16 * 64);
		expect(first.calls).toBeLessThan(16 * 64 * 4);
		expect(read.most).toBeLessThanOrEqual(512);
		const waiting = async () => (await store.queues(0, "eligible,")).queues.length;
		for (let calls = 0; (await waiting()) > 0; calls++) {
			await claims(1);
			expect(calls).toBeLessThan(100);
		}
		expect((await store.queues(0, "blocked,route,")).queues).toHaveLength(MANY);
		const offer = { workerId: "w", capabilities: ["cap-7"], lanes: ["default"] };
		await fresh.workers.register("able", offer);
		const claimed = await fresh.leases.claim({ ...worker, instanceId: "able", capabilities: ["cap-7"] });
		expect(claimed).toHaveLength(1);
	});
});

describe(`a namespace of ${MANY} lanes`, () => {
	it("a list reads a little of each, a few at a time, and is in order", async () => {
		const { backend, store, clock } = await stage();
		// Newest first, and by their ids what was made in the same millisecond.
		let newest: string[] = [];
		for (let round = 0; round < 3; round++) {
			const ids = await submit(backend, MANY, (n) => ({ lane: `lane-${n}` }));
			newest = [...ids.sort(), ...newest];
			await clock.advance(1);
		}
		store.askedSince();
		const { executions } = await backend.executions.list({ limit: 100 });
		expect(executions.map(({ id }) => id)).toEqual(newest.slice(0, 100));
		const { first } = store.askedSince();
		expect(first.atOnce).toBeLessThanOrEqual(32);
		expect(first.calls).toBeLessThan(2 * MANY);
		expect(first.calls * first.most).toBeLessThan(10 * MANY);
		const { nextCursor = "" } = await backend.executions.list({ limit: 1000 });
		const more = await backend.executions.list({ limit: 500, cursor: nextCursor });
		expect(more.executions.map(({ id }) => id)).toEqual(newest.slice(1000, 1500));
	});

	it("a page of lanes asks for what is in those lanes, a few at a time", async () => {
		const { backend, store } = await stage();
		await submit(backend, MANY, (n) => ({ lane: `lane-${String(n).padStart(5, "0")}` }));
		store.askedSince();
		const { lanes } = await backend.lanes.list({ limit: 10 });
		expect(lanes).toHaveLength(10);
		const { last, queueSizes, queues, read } = store.askedSince();
		expect(queues.calls).toBe(1);
		expect(last.calls + queueSizes.calls).toBe(20);
		expect(read.most).toBe(10);
		await backend.lanes.list({ limit: 1000 });
		const all = store.askedSince();
		expect(all.last.atOnce).toBeLessThanOrEqual(16);
		expect(all.queueSizes.atOnce).toBeLessThanOrEqual(16);
	});
});

describe("a registry of hundreds of workers", () => {
	it("is read in steps, once for all who ask at the same time", async () => {
		const { backend, store } = await stage();
		for (let n = 0; n < 450; n++) {
			await backend.workers.register(`i-${n}`, { workerId: "w", capabilities: [`cap-${n}`], lanes: ["default"] });
		}
		const { id } = await backend.executions.create({ kind: "job", requiredCapabilities: ["none"] });
		store.askedSince();
		const explained = await Promise.all(Array.from({ length: 50 }, () => backend.executions.explain(id)));
		for (const each of explained) {
			expect(each).toMatchObject({ workers: { live: 450, able: 0 }, missingCapabilities: ["none"] });
		}
		const { first } = store.askedSince();
		// One read that was under way when the others came, and one for those.
		expect(first.names.filter((queue) => queue === "workers,default").length).toBeLessThanOrEqual(2 * 5);
		expect(first.most).toBeLessThanOrEqual(1000);
	});
});

it("a claim that does not wait asks a store that others write to for its own lane, not for everybody's", async () => {
	const { backend, store } = await stage({ shared: true });
	await submit(backend, 300, (n) => ({ kind: `kind-${n}`, namespace: "busy" }));
	store.askedSince();
	expect(await backend.leases.claim(worker)).toEqual([]);
	expect(await backend.leases.claim({ ...worker, lanes: ["a", "b"] })).toEqual([]);
	const { queues } = store.askedSince();
	expect(queues.names.sort()).toEqual(["eligible,default,", "eligible,default,default,"]);
});

it("claims that wait for other lanes are not gone through when work comes", async () => {
	const waiting = new WaitingClaims(new VirtualClock());
	let lookedAt = 0;
	const sleeping = (lane: string, namespace: string) => {
		const wanted: Wanted = {
			namespace,
			lanes: [lane],
			get offer() {
				lookedAt += 1;
				return { capabilities: [] };
			},
		};
		void waiting.sleep(waiting.enter(wanted), 1000, undefined);
	};
	for (let n = 0; n < 1000; n++) sleeping(`lane-${n}`, "other");
	sleeping("default", "default");
	expect(waiting.wakeFor(0, "eligible,default,default,,job")).toBe(true);
	expect(lookedAt).toBe(1);
	expect(waiting.wakeFor(0, "eligible,default,default,,job")).toBe(false);
});

it("work that was told of once wakes one claim after the other, however many sleep for something else", async () => {
	const { backend, store, start, clock } = await stage();
	// It hears nothing of what others store, and finds it all at once when it looks.
	store.onNotice = () => {};
	const deaf = await start();
	const claim = (kinds: string[]) => deaf.leases.claim({ ...worker, kinds, waitMs: 30_000 });
	const others = Array.from({ length: 100 }, (_, n) => claim([`none-${n}`]));
	const waiting = Array.from({ length: 5 }, () => claim(["job"]));
	await clock.settle();
	const ids = await submit(backend, 5, () => ({}));
	await deaf.engine.dispatcher.work.lookAt([0]);
	const claimed = (await Promise.all(waiting)).flat();
	expect(claimed.map(({ id }) => id).sort()).toEqual(ids.sort());
	await deaf.close();
	expect((await Promise.all(others)).flat()).toEqual([]);
});
