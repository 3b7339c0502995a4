import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Stand, until } from "./stand.ts";

const MIB = 1024 * 1024;

/** A peer that never closes its end, whatever the server does. */
function halfOpen(port: number) {
	const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
	socket.on("error", () => {});
	socket.resume();
	onTestFinished(() => void socket.destroy());
	return socket;
}

async function connectionsAt(stand: Stand): Promise<number> {
	const { text } = await stand.call("GET", "/metrics", { headers: { connection: "close" } });
	return Number(/^flowfabric_connections (\d+)$/m.exec(text)?.[1]);
}

test("sockets that say nothing, or half a request, free their slots although their peers never close", async () => {
	const stand = await Stand.open({ requestTimeoutMs: 200, unreadMs: 200, maxConnections: 30 });
	const silent = Array.from({ length: 10 }, () => halfOpen(stand.server.port));
	const slow = Array.from({ length: 10 }, () => halfOpen(stand.server.port));
	await Promise.all([...silent, ...slow].map((socket) => once(socket, "connect")));
	expect(await connectionsAt(stand)).toBeGreaterThanOrEqual(20);
	for (const socket of slow) socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow:");
	await until(async () => (await connectionsAt(stand)) <= 2);
	expect((await stand.call("GET", "/healthz")).status).toBe(200);
});

test("an answer that nobody reads is cut, and counted", async () => {
	const stand = await Stand.open({ unreadMs: 200 });
	const inputBase64 = Buffer.alloc(MIB).toString("base64");
	const { id } = await stand.backend.executions.create({ kind: "big", inputBase64, contentType: "application/x" });
	const socket = connect(stand.server.port, "127.0.0.1");
	socket.on("error", () => {});
	onTestFinished(() => void socket.destroy());
	await once(socket, "connect");
	socket.pause();
	const request = `GET /v1/executions/${id}/input HTTP/1.1\r\nHost: localhost\r\n\r\n`;
	socket.write(request.repeat(32));
	await until(async () => /^flowfabric_connections_cut_total 1$/m.test((await stand.call("GET", "/metrics")).text));
	// A reader that takes its time, but does read, is served to the end.
	expect((await stand.call("GET", `/v1/executions/${id}/input`)).text.length).toBe(MIB);
});

test("when most places are taken, idle connections make room", async () => {
	const stand = await Stand.open({ maxConnections: 10 });
	const idle = Array.from({ length: 9 }, () => stand.socket());
	for (const { socket } of idle) socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
	await until(() => idle.every(({ heard }) => heard().includes("200 OK")));
	// How many are idle when the ninth comes is a matter of time: those that were, or become so within a second, are closed.
	await Promise.race(idle.map(({ closed }) => closed));
	expect((await stand.call("GET", "/healthz")).status).toBe(200);
	await until(async () => (await connectionsAt(stand)) < 9);
});

test("a long list is the same in pieces as at once, and its cursor goes on where it ends", async () => {
	const stand = await Stand.open();
	await stand.backend.executions.createMany(Array.from({ length: 260 }, (_, n) => ({ kind: `k${n}` })));
	const whole = await stand.backend.executions.list({ limit: 1000 });
	const { executions, nextCursor } = (await stand.call("GET", "/v1/executions?limit=201")).json;
	expect(executions).toEqual(whole.executions.slice(0, 201));
	const rest = (await stand.call("GET", `/v1/executions?limit=1000&cursor=${nextCursor}`)).json;
	expect(rest).toEqual({ executions: whole.executions.slice(201) });
	expect((await stand.call("GET", "/v1/executions?kind=none&limit=1000")).json).toEqual({ executions: [] });
	expect((await stand.call("GET", "/v1/executions?cursor=x")).status).toBe(400);
	expect((await stand.call("GET", "/v1/executions")).json.executions).toHaveLength(100);
});

test("requests sent ahead on a connection are begun one after another, and answered in their order", async () => {
	const stand = await Stand.open();
	const { id } = await stand.backend.executions.create({ kind: "slow" });
	const { socket, heard } = stand.socket();
	const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
	socket.write(get(`/v1/executions/${id}/wait?timeoutMs=20000`).repeat(20) + get("/nowhere"));
	const waits = async () => /pool="waits"} (\d+)/.exec((await stand.call("GET", "/metrics")).text)?.[1];
	await until(async () => (await waits()) === "1");
	expect(await waits()).toBe("1");
	await stand.backend.executions.cancel(id, {});
	await until(() => heard().includes("404 Not Found"));
	expect(heard().match(/HTTP\/1\.1 \d+/g)).toEqual([...new Array(20).fill("HTTP/1.1 200"), "HTTP/1.1 404"]);
});

test("a connection that sends a thousand requests ahead is cut, and others are answered", async () => {
	const stand = await Stand.open();
	const { socket, closed } = stand.socket();
	socket.write("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1000));
	await closed;
	const { text } = await stand.call("GET", "/metrics");
	expect(text).toMatch(/^flowfabric_connections_cut_total 1$/m);
	// It was cut before most of them were begun.
	expect(Number(/route="GET \/metrics",status="200"} (\d+)/.exec(text)?.[1] ?? 0)).toBeLessThan(100);
});
