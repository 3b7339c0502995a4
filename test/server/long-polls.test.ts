import { expect, test } from "vitest";
import { Stand, until } from "./stand.ts";

const claimBody = { workerId: "w", instanceId: "w-1", waitMs: 30_000 };

const post = (path: string, body: unknown): string => {
	const text = JSON.stringify(body);
	return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
};

const waiting = (stand: Stand, pool: string) => async () => {
	const { text } = await stand.call("GET", "/metrics");
	return Number(new RegExp(`flowfabric_pool_waiting\\{pool="${pool}"\\} (\\d+)`).exec(text)?.[1]) > 0;
};

const idle = (stand: Stand, pool: string) => async () => !(await waiting(stand, pool)());

test("a waiting claim is answered with what is submitted", async () => {
	const stand = await Stand.open();
	const claim = stand.call("POST", "/v1/claims", { body: claimBody });
	await until(waiting(stand, "claims"));
	const made = await stand.call("POST", "/v1/executions", { body: { kind: "job" } });
	expect((await claim).json.executions).toMatchObject([{ id: made.json.id }]);
});

test("a claim whose caller goes away ends, and takes nothing that comes later", async () => {
	const stand = await Stand.open();
	const { socket } = stand.socket();
	socket.write(post("/v1/claims", claimBody));
	await until(waiting(stand, "claims"));
	socket.destroy();
	await until(idle(stand, "claims"));
	const { id } = await stand.backend.executions.create({ kind: "job" });
	const { events } = await stand.backend.executions.events(id);
	expect(events.map(({ type }) => type)).toEqual(["created"]);
});

test("leases that cannot be delivered go back at once and are no reclaim", async () => {
	const stand = await Stand.open();
	const { leases } = stand.backend;
	let reached = () => {};
	let goOn = () => {};
	const claiming = new Promise<void>((resolve) => (reached = resolve));
	const gone = new Promise<void>((resolve) => (goOn = resolve));
	const slow = new Proxy(leases, {
		get(target, name: keyof typeof leases) {
			if (name !== "claim") return target[name].bind(target as never);
			return async (request: never) => {
				const claimed = await target.claim(request);
				reached();
				await gone;
				return claimed;
			};
		},
	});
	const other = await Stand.open({
		engine: stand.backend.engine,
		backendFor: (caller) => ({ ...stand.backend.as(caller), leases: slow }),
	});
	const { id } = await stand.backend.executions.create({ kind: "job" });
	const { socket, closed } = other.socket();
	socket.write(post("/v1/claims", { workerId: "w", instanceId: "w-1" }));
	await claiming;
	socket.destroy();
	await closed;
	await until(async () => (await other.call("GET", "/healthz")).status === 200);
	goOn();
	const back = await until(async () => {
		const execution = await stand.backend.executions.get(id);
		return execution.publicState === "waiting" ? execution : undefined;
	});
	expect(back.reclaims).toBe(0);
	const { events } = await stand.backend.executions.events(id);
	expect(events.map(({ type }) => type)).toEqual(["created", "claimed", "lease_released"]);
});

test("a wait answers when the work ends, and as it is when the time is over", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	expect((await stand.call("GET", `/v1/executions/${id}/wait?timeoutMs=1`)).json.publicState).toBe("active");
	const wait = stand.call("GET", `/v1/executions/${id}/wait`);
	await until(waiting(stand, "waits"));
	await stand.backend.leases.complete(id, { fence });
	expect((await wait).json.publicState).toBe("completed");
});

test("a page of events may be waited for", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const page = await stand.call("GET", `/v1/executions/${id}/events`);
	const next = stand.call("GET", `/v1/executions/${id}/events?waitMs=30000&cursor=${page.json.nextCursor}`);
	await until(waiting(stand, "waits"));
	await stand.backend.leases.complete(id, { fence });
	expect((await next).json.events.map(({ type }: { type: string }) => type)).toEqual(["completed"]);
});

test("over its pool a call is refused at once with Retry-After, the pool and its size", async () => {
	const stand = await Stand.open({ pools: { claims: 1, waits: 1, event_tails: 1, notice_tails: 1 } });
	const { id } = await stand.held();
	const calls: Record<string, [method: string, path: string, options: object]> = {
		claims: ["POST", "/v1/claims", { body: claimBody }],
		waits: ["GET", `/v1/executions/${id}/wait`, {}],
		event_tails: ["GET", `/v1/executions/${id}/events`, { headers: { accept: "text/event-stream" } }],
		notice_tails: ["GET", "/v1/workers/w-1/notices", { headers: { accept: "text/event-stream" } }],
	};
	for (const [pool, call] of Object.entries(calls)) {
		void stand.call(...call).catch(() => {});
		await until(waiting(stand, pool));
		const refused = await stand.call(...call);
		expect(refused).toMatchObject({
			status: 429,
			json: { error: { code: "too_many_requests", retryable: true, details: { pool, max: 1 } } },
		});
		expect(refused.headers.get("retry-after")).toBe("1");
	}
	expect((await stand.call("POST", "/v1/claims", { body: { ...claimBody, waitMs: 0 } })).status).toBe(200);
});

test("a place in a pool is free again once its caller is gone", async () => {
	const stand = await Stand.open({ pools: { waits: 1 } });
	const { id } = await stand.held();
	for (let n = 0; n < 3; n++) {
		const { socket } = stand.socket();
		socket.write(`GET /v1/executions/${id}/wait HTTP/1.1\r\nHost: localhost\r\n\r\n`);
		await until(waiting(stand, "waits"));
		socket.destroy();
		await until(idle(stand, "waits"));
	}
});
