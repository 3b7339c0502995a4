import { expect, test } from "vitest";
import { Pool } from "../../src/server/pools.ts";
import { entry, Stand, tokenOf, until } from "./stand.ts";

test("who is alone may have every place; one more is refused", () => {
	const pool = new Pool("waits", 3);
	for (let n = 0; n < 3; n++) pool.take("a");
	expect(() => pool.take("a")).toThrow(expect.objectContaining({ details: { pool: "waits", max: 3 } }));
	expect(pool.held).toBe(3);
});

test("with others there nobody gets more than half", () => {
	const pool = new Pool("waits", 8);
	const other = pool.take("b");
	for (let n = 0; n < 4; n++) pool.take("a");
	expect(() => pool.take("a")).toThrow(/waits: 4 of 8 are yours/);
	other.give();
	expect(() => pool.take("a")).not.toThrow();
});

test("who has most makes room for who has less, until all have the same", () => {
	const pool = new Pool("waits", 6);
	const left: string[] = [];
	const take = (tenant: string, times: number) => {
		for (let n = 0; n < times; n++) {
			const place = pool.take(tenant);
			place.makeRoom = () => left.push(tenant);
		}
	};
	take("a", 6);
	take("b", 3);
	expect(left).toEqual(["a", "a", "a"]);
	expect(() => pool.take("b")).toThrow();
	take("c", 2);
	expect(left.slice(3).toSorted()).toEqual(["a", "b"]);
	expect(() => pool.take("c")).toThrow(/6 are under way/);
	expect(pool.held).toBe(6);
});

test("a call that cannot be ended keeps its place, and a place given back twice counts once", () => {
	const pool = new Pool("stream_ops", 2);
	const places = [pool.take("a"), pool.take("a")];
	expect(() => pool.take("b")).toThrow(/2 are under way/);
	for (const place of [...places, ...places]) place.give();
	expect(pool.held).toBe(0);
});

test("one tenant's claims, waits and tails leave room for another's", async () => {
	const pools = { claims: 2, waits: 2, event_tails: 2, notice_tails: 2 };
	const stand = await Stand.open({ pools, tokens: [entry("ada", "admin", "a"), entry("bob", "admin", "b")] });
	const [ada, bob] = [tokenOf("ada"), tokenOf("bob")];
	const { id } = (await stand.call("POST", "/v1/executions", { token: ada, body: { kind: "job" } })).json;
	const other = (await stand.call("POST", "/v1/executions", { token: bob, body: { kind: "job" } })).json.id;
	const idle = { workerId: "w", instanceId: "w-1", kinds: ["none"], waitMs: 30_000 };
	const stream = { accept: "text/event-stream" };
	const held = async (pool: string) => {
		const { text } = await stand.call("GET", "/metrics");
		return Number(new RegExp(`^flowfabric_pool_waiting\\{pool="${pool}"\\} (\\d+)`, "m").exec(text)?.[1]);
	};
	const calls = {
		claims: (token: string) => stand.call("POST", "/v1/claims", { token, body: idle }),
		waits: (token: string) => stand.call("GET", `/v1/executions/${token === ada ? id : other}/wait`, { token }),
		event_tails: (token: string) => stand.call("GET", "/v1/events?cursor=end", { token, headers: stream }),
		notice_tails: (token: string) => stand.call("GET", "/v1/workers/w-1/notices", { token, headers: stream }),
	};
	const open: Promise<unknown>[] = [];
	for (const [pool, call] of Object.entries(calls)) {
		const own = [call(ada), call(ada)];
		await until(async () => (await held(pool)) === 2);
		expect((await call(ada)).status).toBe(429);
		// Nothing is there for the other to take but what the first makes room for.
		const bobs = call(bob);
		expect((await Promise.race(own)).status).toBe(200);
		expect(await held(pool)).toBe(2);
		open.push(bobs, ...own);
	}
	await stand.server.close();
	await Promise.all(open);
});
