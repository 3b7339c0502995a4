import { once } from "node:events";
import { expect, test } from "vitest";
import { socketTraffic } from "../conformance/socket-traffic.ts";
import { Stand, until } from "./stand.ts";

test("closing answers whoever waits with what there is, ends streams with a notice and stops listening", async () => {
	const stand = await Stand.open();
	const { id } = await stand.held();
	const claim = stand.call("POST", "/v1/claims", { body: { workerId: "w", instanceId: "w-2", waitMs: 30_000 } });
	const wait = stand.call("GET", `/v1/executions/${id}/wait`);
	const events = stand.call("GET", `/v1/executions/${id}/events`, { headers: { accept: "text/event-stream" } });
	const notices = stand.call("GET", "/v1/workers/w-1/notices");
	await until(async () => {
		const { text } = await stand.call("GET", "/metrics");
		return ["claims", "waits", "event_tails", "notice_tails"].every((pool) => text.includes(`pool="${pool}"} 1`));
	});
	await stand.server.close();
	expect(await claim).toMatchObject({ status: 200, json: { executions: [] } });
	expect(await wait).toMatchObject({ status: 200, json: { id, publicState: "active" } });
	for (const stream of [await events, await notices]) {
		expect(stream.text).toMatch(/event: close\ndata: \{"code":"shutting_down".*"retryable":true\}\n\n$/);
	}
	await expect(stand.call("GET", "/healthz")).rejects.toThrow();
	expect(stand.log.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});

test("calls under way are finished before the server is gone", async () => {
	const stand = await Stand.open();
	let goOn = () => {};
	let reached = () => {};
	const held = new Promise<void>((resolve) => (goOn = resolve));
	const begun = new Promise<void>((resolve) => (reached = resolve));
	const { executions } = stand.backend;
	const slow = new Proxy(executions, {
		get: (target, name: keyof typeof executions) =>
			name === "create"
				? async (request: never) => {
						reached();
						await held;
						return target.create(request);
					}
				: target[name].bind(target as never),
	});
	const other = await Stand.open({ backendFor: (caller) => ({ ...stand.backend.as(caller), executions: slow }) });
	const made = other.call("POST", "/v1/executions", { body: { kind: "job" } });
	await begun;
	const closing = other.server.close();
	goOn();
	expect((await made).status).toBe(201);
	await closing;
});

test("what does not finish in time is cut with a warning", async () => {
	const stand = await Stand.open();
	let began = false;
	const get = () => {
		began = true;
		return new Promise(() => {});
	};
	const other = await Stand.open({
		graceMs: 50,
		backendFor: (caller) => ({ ...stand.backend.as(caller), executions: { get } as never }),
	});
	const call = other.call("GET", "/v1/executions/x").catch((error: unknown) => error);
	await until(() => began);
	await other.server.close();
	expect(await call).toBeInstanceOf(Error);
	expect(other.log.some(({ level, msg }) => level === 40 && /aborted/.test(String(msg)))).toBe(true);
});

test("a call that comes while the server closes is refused as shutting_down", async () => {
	const stand = await Stand.open();
	let goOn = () => {};
	let began = false;
	const held = new Promise<void>((resolve) => (goOn = resolve));
	const { executions } = stand.backend;
	const slow = new Proxy(executions, {
		get: (target, name: keyof typeof executions) =>
			name === "attemptPage"
				? async () => {
						began = true;
						await held;
						return { attempts: [] };
					}
				: target[name].bind(target as never),
	});
	const other = await Stand.open({ backendFor: (caller) => ({ ...stand.backend.as(caller), executions: slow }) });
	socketTraffic.servedAt(other.server.address);
	const { socket, heard, closed } = other.socket();
	socket.write("GET /v1/executions/x/attempts HTTP/1.1\r\nHost: localhost\r\n\r\n");
	await until(() => began);
	const closing = other.server.close();
	socket.write("GET /v1/executions HTTP/1.1\r\nHost: localhost\r\n\r\n");
	await until(() => !socketTraffic.busy);
	goOn();
	await Promise.all([closing, closed]);
	expect(heard().match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 503"]);
	expect(heard()).toContain('"code":"shutting_down"');
});

const HEAD =
	"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{";

for (const [what, text] of [
	["says nothing", ""],
	["sent half a head", "GET /healthz HTTP/1.1\r\nX"],
	["was answered and sent half a head", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nX"],
] as const) {
	test(`a connection that ${what} holds up no end`, async () => {
		const stand = await Stand.open();
		const { socket, heard, closed } = stand.socket();
		if (text === "") await once(socket, "connect");
		else socket.write(text);
		if (text.includes("\r\n\r\n")) await until(() => heard().includes("200 OK"));
		expect((await stand.call("GET", "/healthz")).status).toBe(200);
		const startedAt = performance.now();
		await stand.server.close();
		await closed;
		expect(performance.now() - startedAt).toBeLessThan(5000);
		expect(stand.log.filter(({ level }) => Number(level) >= 40)).toEqual([]);
	});
}

test("a call whose body does not arrive is cut before the grace is over, and is none that was running", async () => {
	const stand = await Stand.open();
	const { socket, closed } = stand.socket();
	socket.write(HEAD);
	await once(socket, "connect");
	expect((await stand.call("GET", "/healthz")).status).toBe(200);
	const startedAt = performance.now();
	await stand.server.close();
	await closed;
	expect(performance.now() - startedAt).toBeLessThan(8000);
	expect(stand.log.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});
