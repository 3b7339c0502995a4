import { expect, onTestFinished, test } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { FlowFabric } from "../../src/index.ts";
import { HangingStore } from "../engine/hanging-store.ts";
import { type Reply, Stand, until } from "./stand.ts";

const LIMIT_MS = 150;
const PARTITIONS = 2;

/** A server in front of an engine whose store can be made to say nothing. */
async function open() {
	const store = new HangingStore(PARTITIONS, Date.now);
	const engine = new Engine({ store });
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	const stand = await Stand.open({
		engine,
		// What the scanners do is never told.
		backendFor: (caller) => {
			const { admin, ...calls } = backend.as(caller);
			return { ...calls, admin: Object.assign(Object.create(admin), { scanners: () => new Promise(() => {}) }) };
		},
		requestTimeoutMs: LIMIT_MS,
	});
	onTestFinished(async () => {
		store.wake();
		await backend.close();
	});
	const hang = () => store.hang([...engine.runners.keys()]);
	return { store, engine, backend, stand, hang };
}

const late = (limitMs: number) => ({
	status: 504,
	json: { error: { code: "request_timeout", retryable: true, details: { limitMs } } },
});

async function timed(call: Promise<Reply>): Promise<{ reply: Reply; ms: number }> {
	const began = performance.now();
	return { reply: await call, ms: performance.now() - began };
}

test("a call that the store does not answer gets 504 when its time is over", async () => {
	const { stand, backend, hang } = await open();
	const { id } = await backend.executions.create({ kind: "job" });
	hang();
	for (const [method, path, body] of [
		["POST", "/v1/executions", { kind: "job" }],
		["POST", "/v1/executions/batch", { items: [{ kind: "job" }] }],
		["GET", `/v1/executions/${id}`],
		["GET", "/v1/executions"],
		["POST", `/v1/executions/${id}/cancel`, {}],
		["POST", "/v1/lanes/default/pause"],
		["GET", "/v1/events"],
		["PUT", "/v1/workers/w-1", { workerId: "w", capabilities: [], lanes: ["default"] }],
		["POST", "/v1/claims", { workerId: "w", instanceId: "w-1" }],
	] as const) {
		const { reply, ms } = await timed(stand.call(method, path, { body }));
		expect({ path, ...reply }).toMatchObject({ path, ...late(LIMIT_MS) });
		expect(ms).toBeGreaterThanOrEqual(LIMIT_MS - 5);
	}
	expect(stand.log).toContainEqual(expect.objectContaining({ what: "lane-pause", outcome: "request_timeout" }));
});

test("its answer says that a change may have been made", async () => {
	const { stand, store, backend, hang } = await open();
	hang();
	const { json } = await stand.call("POST", "/v1/executions", { body: { kind: "job" } });
	expect(json.error.message).toMatch(/^POST \/v1\/executions was not answered within 150 ms; .* may have been done/);
	store.wake();
	await until(async () => (await backend.executions.list()).executions.length === 1);
});

test("a call that waits has its wait beside that, and administration four times as long", async () => {
	const { stand, backend, hang } = await open();
	const { id } = await backend.executions.create({ kind: "job" });
	hang();
	const waiting = {
		claim: stand.call("POST", "/v1/claims", { body: { workerId: "w", instanceId: "w-1", waitMs: 100 } }),
		wait: stand.call("GET", `/v1/executions/${id}/wait?timeoutMs=100`),
		events: stand.call("GET", `/v1/executions/${id}/events?waitMs=100`),
		feed: stand.call("GET", "/v1/events?waitMs=100"),
	};
	for (const call of Object.values(waiting)) expect(await call).toMatchObject(late(LIMIT_MS + 100));
	expect(await stand.call("GET", "/v1/admin/scanners")).toMatchObject(late(4 * LIMIT_MS));
});

test("leases that a claim gets after it was answered go back at once and are no reclaim", async () => {
	const { stand, store, backend, hang } = await open();
	const { id } = await backend.executions.create({ kind: "job" });
	hang();
	expect(await stand.call("POST", "/v1/claims", { body: { workerId: "w", instanceId: "w-1" } })).toMatchObject(
		late(LIMIT_MS),
	);
	store.wake();
	const types = async () => (await backend.executions.events(id)).events.map(({ type }) => type);
	await until(async () => (await types()).length === 3);
	expect(await types()).toEqual(["created", "claimed", "lease_released"]);
	expect(await backend.executions.get(id)).toMatchObject({ publicState: "waiting", reclaims: 0 });
});

test("a stream that has begun is not cut, nor a wait that has time left", async () => {
	const { stand, backend } = await open();
	const { id } = await backend.executions.create({ kind: "job" });
	const ff = FlowFabric.connect(stand.server.address);
	onTestFinished(() => ff.close());
	const seen: string[] = [];
	const reading = (async () => {
		for await (const { event } of ff.backend.executions.follow(id)) {
			seen.push(event.type);
			if (event.type === "cancelled") return;
		}
	})();
	const waited = stand.call("GET", `/v1/executions/${id}/wait?timeoutMs=30000`);
	await until(() => seen.length > 0);
	// It is cut itself, long after the others would have been.
	expect((await stand.call("GET", "/v1/admin/scanners")).status).toBe(504);
	await backend.executions.cancel(id);
	await reading;
	expect(seen).toEqual(["created", "cancelled"]);
	expect((await waited).json.publicState).toBe("cancelled");
});
