import { expect, test } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import type { Fault } from "../../src/engine/fault-log.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import type { LoggedEvent, LogPosition } from "../../src/store/port.ts";

/** Some of its events were damaged by somebody's hand. */
class TamperedStore extends MemoryStore {
	tamper: (event: LoggedEvent) => object = () => ({});

	override async events(
		partition: number,
		log: string,
		owner: string | undefined,
		after: LogPosition | undefined,
		count: number,
	) {
		const { time, events } = await super.events(partition, log, owner, after, count);
		return { time, events: events.map((event) => ({ ...event, ...this.tamper(event) })) };
	}
}

async function stage() {
	const store = new TamperedStore(1, () => Date.now());
	const faults: Fault[] = [];
	const engine = new Engine({ store, onFault: (fault) => faults.push(fault) });
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	return { store, faults, backend };
}

test.each([
	["no JSON", { body: "{" }],
	["null", { body: "null" }],
	["a list", { body: "[]" }],
	["no number of its own", { body: '{"seq":{},"type":"created","actor":"a"}' }],
	["no type", { body: '{"seq":1,"type":[1],"actor":"a"}' }],
	["no time", { at: "abc" }],
])("an event that is %s is passed by and told of by its name; readers get what is behind it", async (_, damage) => {
	const { store, faults, backend } = await stage();
	const { id: bad } = await backend.executions.create({ kind: "job" });
	const { id: sound } = await backend.executions.create({ kind: "job" });
	await backend.executions.cancel(bad);
	store.tamper = ({ owner, body }) => (owner === bad && body.includes('"created"') ? damage : {});

	const { events, nextCursor } = await backend.feed.read();
	expect(events.map(({ executionId, type }) => `${executionId} ${type}`)).toEqual([
		`${sound} created`,
		`${bad} cancelled`,
	]);
	// The cursor gets past it, also page by page.
	expect((await backend.feed.read({ cursor: nextCursor })).events).toEqual([]);
	const paged: string[] = [];
	for (let n = 0, cursor = "start"; n < 3; n++) {
		const page = await backend.feed.read({ cursor, limit: 1 });
		paged.push(...page.events.map(({ type }) => type));
		cursor = page.nextCursor;
	}
	expect(paged).toEqual(["created", "cancelled"]);
	expect((await backend.executions.events(bad)).events.map(({ type }) => type)).toEqual(["cancelled"]);
	const followed: string[] = [];
	for await (const { event } of backend.executions.follow(bad)) followed.push(event.type);
	expect(followed).toEqual(["cancelled"]);
	expect(faults).toMatchObject([{ about: "a record cannot be read" }]);
	expect(faults[0]?.subjects).toEqual([expect.stringMatching(new RegExp(`^event \\d+-0 of ${bad}$`))]);
	await backend.close();
});

test("following ends also when the last event, or all, cannot be read", async () => {
	const { store, backend } = await stage();
	const { id } = await backend.executions.create({ kind: "job" });
	await backend.executions.cancel(id);
	for (const lost of ['"cancelled"', ""]) {
		store.tamper = ({ body }) => (body.includes(lost) ? { body: "{" } : {});
		const followed: string[] = [];
		for await (const { event } of backend.executions.follow(id)) followed.push(event.type);
		expect(followed).toEqual(lost === "" ? [] : ["created"]);
	}
	await backend.close();
});

test("the events of a flow", async () => {
	const { store, faults, backend } = await stage();
	const { id, nodes } = await backend.flows.create({ nodes: [{ key: "a", kind: "job" }], edges: [] });
	store.tamper = ({ owner }) => (owner === nodes["a"] ? { body: "null" } : {});
	const { events } = await backend.flows.events(id);
	expect(events.length).toBeGreaterThan(0);
	expect(new Set(events.map(({ executionId }) => executionId))).toEqual(new Set([undefined]));
	expect(faults[0]?.subjects[0]).toMatch(/^event \d+-\d+ of ex_/);
	await backend.close();
});
