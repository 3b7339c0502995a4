import { request as httpRequest } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { openBackend } from "../../src/library/open.ts";
import type { ServerOptions } from "../../src/server/options.ts";
import { RequestRate } from "../../src/server/request-rate.ts";
import { serveEngine } from "../../src/server/server.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { entry, Stand, tokenOf } from "./stand.ts";

const fast = { ...entry("fast", "admin"), requestsPerSecond: 1000, requestBurst: 1000 };
const slow = { ...entry("slow", "admin"), requestsPerSecond: 2, requestBurst: 3 };

/** A server whose time passes only when it is told to. */
async function open(options: Partial<ServerOptions>) {
	const clock = new VirtualClock();
	const backend = await openBackend("memory:", { testClock: { now: clock.now, clock } });
	const server = await serveEngine({
		engine: backend.engine,
		backendFor: (caller) => backend.as(caller),
		port: 0,
		docs: false,
		...options,
	});
	onTestFinished(async () => {
		await server.close();
		await backend.close();
	});
	const get = (path: string, token?: string, headers: Record<string, string> = {}) =>
		fetch(server.address + path, {
			headers: { ...headers, ...(token === undefined ? undefined : { authorization: `Bearer ${tokenOf(token)}` }) },
		});
	const statuses = async (count: number, token?: string): Promise<number[]> => {
		const found: number[] = [];
		for (let n = 0; n < count; n++) found.push((await get("/v1/lanes", token)).status);
		return found;
	};
	return { clock, server, get, statuses };
}

test("a rate lets a burst through and then so many a second, however long nobody asked", () => {
	let now = 5000;
	const rate = new RequestRate({ requestsPerSecond: 10, requestBurst: 15 }, () => now);
	const taken = () => Array.from({ length: 40 }, () => rate.take()).filter(Boolean).length;
	expect(taken()).toBe(15);
	now += 99;
	expect(taken()).toBe(0);
	now += 1;
	expect(taken()).toBe(1);
	now += 1000;
	expect(taken()).toBe(10);
	now += 3_600_000;
	expect(taken()).toBe(15);
});

test("a token that asks too often is refused by the name of its limit, and goes on a second later", async () => {
	const { clock, get, statuses } = await open({ tokens: [fast, slow] });
	expect(await statuses(5, "slow")).toEqual([200, 200, 200, 429, 429]);
	const refused = await get("/v1/lanes", "slow");
	expect(refused.headers.get("retry-after")).toBe("1");
	expect(await refused.json()).toEqual({
		error: {
			code: "too_many_requests",
			message: "slow may send 2 requests per second, 3 at once",
			retryable: true,
			details: { requestsPerSecond: 2, requestBurst: 3 },
		},
	});
	// Another token is not concerned, nor is whoever asks for the server's health.
	expect(await statuses(5, "fast")).toEqual([200, 200, 200, 200, 200]);
	for (const path of ["/healthz", "/readyz", "/metrics"]) expect((await get(path, "slow")).status).toBe(200);
	await clock.advance(1000);
	expect(await statuses(3, "slow")).toEqual([200, 200, 429]);
	const metrics = await (await get("/metrics")).text();
	expect(metrics).toContain('flowfabric_requests_over_rate_total{token="slow"} 4');
});

test("the rate for all holds for each token by itself, and for everybody where there are none", async () => {
	const guarded = await open({ tokens: [entry("a", "admin"), entry("b", "admin")], requestsPerSecond: 1 });
	expect(await guarded.statuses(3, "a")).toEqual([200, 200, 429]);
	expect(await guarded.statuses(3, "b")).toEqual([200, 200, 429]);
	const loopback = await open({ requestsPerSecond: 1, requestBurst: 1 });
	expect(await loopback.statuses(2)).toEqual([200, 429]);
});

test("an event stream counts once, however long it lasts", async () => {
	const { clock, get, statuses } = await open({ tokens: [slow] });
	const stream = await get("/v1/events?cursor=end", "slow", { accept: "text/event-stream" });
	expect(stream.status).toBe(200);
	await clock.advance(10_000);
	expect(await statuses(4, "slow")).toEqual([200, 200, 200, 429]);
	await stream.body?.cancel();
});

test("a request over the rate is refused before its body has come", async () => {
	const { server, statuses } = await open({ tokens: [slow] });
	await statuses(3, "slow");
	const status = await new Promise<number | undefined>((resolve, reject) => {
		const call = httpRequest(`${server.address}/v1/executions/batch`, {
			method: "POST",
			headers: {
				authorization: `Bearer ${tokenOf("slow")}`,
				"content-type": "application/json",
				"content-length": 30_000_000,
			},
		});
		call.on("response", ({ statusCode }) => {
			resolve(statusCode);
			call.destroy();
		});
		call.on("error", reject);
		call.write('{"items":[');
	});
	expect(status).toBe(429);
});

test("a rate that cannot be is refused by its name at the start", async () => {
	const bad: [Partial<ServerOptions>, string][] = [
		[{ requestsPerSecond: 0 }, "requestsPerSecond"],
		[{ requestBurst: 1.5 }, "requestBurst"],
		[{ tokens: [{ ...slow, requestsPerSecond: -1 }] }, "tokens[0].requestsPerSecond"],
		[{ tokens: [{ ...slow, requestBurst: 2_000_000 }] }, "tokens[0].requestBurst"],
	];
	for (const [options, field] of bad) {
		await expect(Stand.open(options)).rejects.toMatchObject({ code: "invalid_input", details: { field } });
	}
});

test("a worker whose token is too slow for its work gets through it all the same", async () => {
	const stand = await Stand.open({
		tokens: [fast, { ...entry("crew", "worker"), requestsPerSecond: 20, requestBurst: 2 }],
	});
	const ids = await Promise.all(
		Array.from({ length: 6 }, async () => (await stand.backend.executions.create({ kind: "job" })).id),
	);
	const quiet = { debug() {}, info() {}, warn() {}, error() {} };
	const worker = stand.connect({ token: tokenOf("crew") }).worker({ concurrency: 3, handleSignals: false, log: quiet });
	worker.handle("job", async () => "done");
	await worker.start();
	for (const id of ids) expect((await stand.backend.executions.wait(id)).publicState).toBe("completed");
	await worker.stop();
	expect((await stand.call("GET", "/metrics")).text).toMatch(/requests_over_rate_total\{token="crew"\} \d+/);
});
