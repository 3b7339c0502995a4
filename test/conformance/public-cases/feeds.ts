import { expect } from "vitest";
import type { EventPage, FeedRequest } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const HOUR = 3_600_000;

const told = ({ events }: Pick<EventPage, "events">): string[] =>
	events.map(({ executionId, seq, type }) => `${executionId} ${seq} ${type}`);

/** Everything from a cursor on, page by page until one is empty twice. */
async function readAll(
	scene: Scene,
	request: FeedRequest = {},
): Promise<{ events: EventPage["events"]; pages: number }> {
	const events: EventPage["events"] = [];
	let cursor = request.cursor ?? "start";
	let pages = 0;
	for (let empty = 0; empty < 2; pages++) {
		const page = await scene.ff.feed({ ...request, cursor });
		events.push(...page.events);
		empty = page.events.length === 0 && page.nextCursor === cursor ? empty + 1 : 0;
		cursor = page.nextCursor;
	}
	return { events, pages };
}

const end = async (scene: Scene): Promise<string> => (await scene.ff.feed({ cursor: "end" })).nextCursor;

export function feedCases(test: PublicCase): void {
	test("an empty store has nothing to tell, and a cursor to go on from", async (scene) => {
		const { events, nextCursor } = await scene.ff.feed();
		expect(events).toEqual([]);
		const id = await scene.create();
		expect(told(await scene.ff.feed({ cursor: nextCursor }))).toEqual([`${id} 1 created`]);
	});

	test("everything that happened in a namespace is told, in order, and nothing of others", async (scene) => {
		const one = await scene.finished();
		await scene.finished({ namespace: "n" });
		await scene.clock.advance(5);
		const two = await scene.create({ lane: "b", delayMs: 1000 });
		await scene.clock.advance(1000);
		expect(told(await scene.ff.feed())).toEqual([
			`${one.id} 1 created`,
			`${one.id} 2 claimed`,
			`${one.id} 3 completed`,
			`${two} 1 created`,
			`${two} 2 eligible`,
		]);
		expect((await scene.ff.feed({ namespace: "n" })).events.map(({ type }) => type)).toEqual([
			"created",
			"claimed",
			"completed",
		]);
	});

	test("events come as they stand in their executions' histories", async (scene) => {
		const { id } = await scene.finished({ input: 1 });
		expect((await scene.ff.feed()).events).toEqual(await scene.events(id));
	});

	test("a cursor at the end gives only what comes later", async (scene) => {
		await scene.finished();
		const cursor = await end(scene);
		expect(told(await scene.ff.feed({ cursor }))).toEqual([]);
		const id = await scene.create();
		expect(told(await scene.ff.feed({ cursor }))).toEqual([`${id} 1 created`]);
	});

	test("pages of any size give every event once, by time, and in order per execution", async (scene) => {
		const expected: string[] = [];
		for (let n = 0; n < 20; n++) {
			const { id } = await scene.finished({ lane: `lane-${n}` });
			expected.push(`${id} 1 created`, `${id} 2 claimed`, `${id} 3 completed`);
			await scene.create({ namespace: "n" });
			await scene.clock.advance(1);
		}
		for (const limit of [1, 7, 1000]) expect(told(await readAll(scene, { limit }))).toEqual(expected);
	});

	test("a namespace that is rare in the log is found, in calls of bounded work", async (scene) => {
		const others = Array.from({ length: 1000 }, () => ({ kind: "job", namespace: "busy" }));
		for (let n = 0; n < 5; n++) await scene.backend.executions.createMany(others);
		const id = await scene.create({ namespace: "rare" });
		const { events, pages } = await readAll(scene, { namespace: "rare", limit: 1000 });
		expect(told({ events })).toEqual([`${id} 1 created`]);
		expect(pages).toBeGreaterThan(2);
	});

	test("a read that waits is woken by an event of its namespace and by no other", async (scene) => {
		let answered = false;
		const cursor = await end(scene);
		const waiting = scene.ff.feed({ cursor, waitMs: 30_000 }).finally(() => (answered = true));
		await scene.clock.advance(1000);
		await scene.create({ namespace: "n" });
		await scene.clock.advance(1000);
		expect(answered).toBe(false);
		const id = await scene.create();
		expect(told(await waiting)).toEqual([`${id} 1 created`]);
	});

	test("a read that waits is woken by what the engine does on its own", async (scene) => {
		const id = await scene.create({ delayMs: 5000 });
		const waiting = scene.ff.feed({ cursor: await end(scene), waitMs: 30_000 });
		await scene.clock.advance(5000);
		expect(told(await waiting)).toEqual([`${id} 2 eligible`]);
	});

	test("a read waits no longer than waitMs and then has a cursor", async (scene) => {
		let page: EventPage | undefined;
		const waiting = scene.ff.feed({ cursor: "end", waitMs: 1000 }).then((answer) => (page = answer));
		await scene.clock.advance(999);
		expect(page).toBeUndefined();
		await scene.clock.advance(1);
		await waiting;
		expect(page?.events).toEqual([]);
		const id = await scene.create();
		expect(told(await scene.ff.feed({ cursor: page?.nextCursor ?? "" }))).toEqual([`${id} 1 created`]);
	});

	test("a read that is called off answers at once, with a cursor that has lost nothing", async (scene) => {
		const gone = new AbortController();
		const waiting = scene.ff.feed({ cursor: "end", waitMs: 30_000 }, gone.signal);
		await scene.clock.settle();
		gone.abort();
		const { events, nextCursor } = await waiting;
		expect(events).toEqual([]);
		const id = await scene.create();
		expect(told(await scene.ff.feed({ cursor: nextCursor }))).toEqual([`${id} 1 created`]);
	});

	test("what was deleted is still told of for a day", async (scene) => {
		const { id } = await scene.finished();
		await scene.backend.executions.delete(id);
		await scene.clock.advance(23 * HOUR);
		expect(told(await scene.ff.feed())).toEqual([
			`${id} 1 created`,
			`${id} 2 claimed`,
			`${id} 3 completed`,
			`${id} 4 deleted`,
		]);
		await scene.clock.advance(3 * HOUR);
		expect(told(await scene.ff.feed())).toEqual([]);
	});

	test("a cursor behind which events have gone is refused, never passed over in silence", async (scene) => {
		const { id } = await scene.finished();
		await scene.create({ lane: "kept" });
		const { nextCursor } = await scene.ff.feed({ limit: 1 });
		await scene.backend.executions.delete(id);
		await scene.clock.advance(23 * HOUR);
		expect((await scene.ff.feed({ cursor: nextCursor })).events.length).toBeGreaterThan(2);
		await scene.clock.advance(3 * HOUR);
		const { code, status } = await refusal(scene.ff.feed({ cursor: nextCursor }));
		expect([code, status]).toEqual(["cursor_expired", 409]);
		expect((await scene.ff.feed()).events.map(({ type }) => type)).toEqual(["created"]);
	});

	test("a reader that keeps up is never refused, however long it reads", async (scene) => {
		let cursor = "start";
		const seen: string[] = [];
		for (let hour = 0; hour < 30; hour++) {
			const { id } = await scene.finished();
			await scene.backend.executions.delete(id);
			const page = await scene.ff.feed({ cursor });
			seen.push(...page.events.map(({ type }) => type));
			cursor = page.nextCursor;
			await scene.clock.advance(HOUR);
		}
		expect(seen).toHaveLength(120);
	});

	test("one that reads history older than a day goes on from page to page", async (scene) => {
		for (let n = 0; n < 4; n++) await scene.create({ lane: `l${n}` });
		await scene.clock.advance(26 * HOUR);
		const { events } = await readAll(scene, { limit: 1 });
		expect(events).toHaveLength(4);
	});

	test("bad requests are refused by the name of their field", async (scene) => {
		const { id } = await scene.finished();
		const foreign = (await scene.backend.executions.events(id)).nextCursor;
		const bad: [string, FeedRequest][] = [
			["cursor", { cursor: "nonsense" }],
			["cursor", { cursor: "" }],
			["cursor", { cursor: foreign }],
			["limit", { limit: 0 }],
			["limit", { limit: 1001 }],
			["waitMs", { waitMs: -1 }],
			["waitMs", { waitMs: 30_001 }],
			["namespace", { namespace: "a b" }],
		];
		for (const [field, request] of bad) {
			const { code, details } = await refusal(scene.ff.feed(request));
			expect([code, details.field]).toEqual(["invalid_input", field]);
		}
	});

	test("a cursor of another store is refused", async (scene) => {
		const { id } = await scene.finished();
		const ofFeed = (await scene.ff.feed()).nextCursor;
		const ofHistory = (await scene.backend.executions.events(id)).nextCursor;
		const elsewhere = (cursor: string) => `elswhere${cursor.slice("elswhere".length)}`;
		expect((await refusal(scene.ff.feed({ cursor: elsewhere(ofFeed) }))).code).toBe("cursor_expired");
		const history = scene.backend.executions.events(id, { cursor: elsewhere(ofHistory) });
		expect((await refusal(history)).code).toBe("cursor_expired");
	});

	test("a cursor tells nothing of what others write", async (scene) => {
		const a = scene.as({ actor: "ada", namespace: "a" });
		await scene.create({ namespace: "a" });
		const before = [(await a.feed.read()).nextCursor, (await a.feed.read({ cursor: "end" })).nextCursor];
		for (let n = 0; n < 40; n++) await scene.create({ namespace: "b" });
		const after = [(await a.feed.read()).nextCursor, (await a.feed.read({ cursor: "end" })).nextCursor];
		const all = [...before, ...after];
		// They are of one length, and nobody can tell whether two of them lead to the same place.
		expect(new Set(all.map(({ length }) => length)).size).toBe(1);
		expect(new Set(all).size).toBe(4);
		for (const cursor of before) expect((await a.feed.read({ cursor })).events).toEqual([]);
	});

	test("a cursor of another namespace's feed is refused like one that nobody was given", async (scene) => {
		await scene.create({ namespace: "b" });
		const { nextCursor } = await scene.ff.feed({ namespace: "b" });
		const a = scene.as({ actor: "ada", namespace: "a" });
		const foreign = await refusal(a.feed.read({ cursor: nextCursor }));
		expect(foreign).toMatchObject({ code: "invalid_input", details: { field: "cursor" } });
		expect(await refusal(a.feed.read({ cursor: "nonsense" }))).toMatchObject({ message: foreign.message });
	});
}
