import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { ServerOptions } from "../../src/server/options.ts";
import { entry, Stand, tokenOf, until } from "./stand.ts";

const MIB = 1024 * 1024;
/** More than the network itself holds of an answer. */
const LARGE = 24 * MIB;

const metricOf = async (stand: Stand, line: RegExp): Promise<number> =>
	Number(line.exec((await stand.call("GET", "/metrics")).text)?.[1] ?? 0);
const cutsAt = (stand: Stand) => metricOf(stand, /^flowfabric_connections_cut_total (\d+)$/m);

/** A server whose inputs are all large. */
async function withLargeInputs(options: Partial<ServerOptions>): Promise<Stand> {
	const { backend } = await Stand.open();
	const bytes = Buffer.alloc(LARGE);
	const input = async () => ({ bytes, contentType: "application/x" });
	return Stand.open({
		backendFor: (caller) => ({ ...backend.as(caller), executions: { input } as never }),
		...options,
	});
}

/** Asks for something and reads nothing. */
async function askAndStare(stand: Stand, path: string, token?: string): Promise<Socket> {
	const socket = connect(stand.server.port, "127.0.0.1");
	socket.on("error", () => {});
	onTestFinished(() => void socket.destroy());
	await once(socket, "connect");
	socket.pause();
	const auth = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`;
	socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${auth}\r\n`);
	return socket;
}

test("who reads slowly, but steadily, is served to the end, however large the answer", async () => {
	const stand = await withLargeInputs({ unreadMs: 1500 });
	const socket = await askAndStare(stand, "/v1/executions/x/input");
	let received = 0;
	socket.on("data", (chunk) => {
		received += chunk.length;
		socket.pause();
		setTimeout(() => socket.resume(), 8);
	});
	socket.resume();
	await until(() => received > LARGE || socket.destroyed);
	expect(received).toBeGreaterThan(LARGE);
	expect(await cutsAt(stand)).toBe(0);
});

test("a large answer says how long it is, and arrives as it was", async () => {
	const stand = await Stand.open();
	const text = "äöü🦊".repeat(50_000);
	const { id } = await stand.backend.executions.create({ kind: "large", input: text });
	const { headers, json } = await stand.call("GET", `/v1/executions/${id}/input`);
	expect(json).toBe(text);
	expect(headers.get("content-length")).toBe(String(Buffer.byteLength(JSON.stringify(text))));
});

test("many who read nothing are cut long before their time, but for as many as there is room for", async () => {
	const stand = await withLargeInputs({ unsentBytes: 2 * LARGE });
	const readers = await Promise.all(Array.from({ length: 6 }, () => askAndStare(stand, "/v1/executions/x/input")));
	await until(async () => (await cutsAt(stand)) >= 3);
	expect((await stand.call("GET", "/v1/executions/x/input")).text.length).toBe(LARGE);
	expect(await cutsAt(stand)).toBeLessThan(readers.length);
});

test("a range of a stream keeps its place until its reader has it, or another tenant needs the place", async () => {
	const { backend } = await Stand.open();
	const frame = { id: "1", at: 0, type: "text", mode: "append", attempt: 0, epoch: 1, text: "x".repeat(LARGE) };
	let reads = 0;
	const read = async () => {
		reads += 1;
		return { frames: reads > 2 ? [] : [frame] };
	};
	const stand = await Stand.open({
		backendFor: (caller) => ({ ...backend.as(caller), streams: { read } as never }),
		pools: { stream_ops: 2 },
		tokens: [entry("ada", "admin", "a"), entry("bob", "admin", "b")],
	});
	const path = "/v1/executions/x/attempts/0/stream";
	const ask = (name: string) => stand.call("GET", path, { token: tokenOf(name) });
	const unread = [await askAndStare(stand, path, tokenOf("ada")), await askAndStare(stand, path, tokenOf("ada"))];
	const received = unread.map((socket) => once(socket, "readable"));
	await Promise.all(received);
	expect(await ask("ada")).toMatchObject({ status: 429, json: { error: { details: { pool: "stream_ops" } } } });
	expect((await ask("bob")).status).toBe(200);
	const leaving = unread[0] as Socket;
	leaving.destroy();
	await until(async () => (await metricOf(stand, /pool_waiting\{pool="stream_ops"\} (\d+)/)) === 0);
	expect((await ask("ada")).status).toBe(200);
});

test("attempts come in pages that end early when they are large; an unknown id is told before a bad cursor", async () => {
	const stand = await Stand.open();
	const policy = { retry: { maxRetries: 100, backoff: { type: "fixed", delayMs: 0 } } } as const;
	const { id } = await stand.backend.executions.create({ kind: "job", policy });
	for (let n = 0; n < 40; n++) {
		const [claimed] = await stand.backend.leases.claim({ workerId: "w", instanceId: "w-1", waitMs: 20_000 });
		if (!claimed) throw new Error("nothing to claim");
		const { lease } = claimed;
		const fence = { leaseId: lease.id, epoch: lease.epoch };
		await stand.backend.leases.fail(id, { fence, reason: "\u0000".repeat(2048), detail: "\u0001".repeat(16_384) });
	}
	const path = `/v1/executions/${id}/attempts`;
	const first = await stand.call("GET", path);
	expect(first.text.length).toBeLessThan(1.5 * MIB);
	expect(first.json.attempts.length).toBeGreaterThan(1);
	const two = (await stand.call("GET", `${path}?limit=2`)).json;
	expect(two.attempts).toEqual(first.json.attempts.slice(0, 2));
	const next = (await stand.call("GET", `${path}?limit=1&cursor=${two.nextCursor}`)).json;
	expect(next.attempts).toEqual(first.json.attempts.slice(2, 3));
	expect((await stand.connect().attempts(id)).map(({ index }) => index)).toEqual(
		Array.from({ length: 40 }, (_, n) => n),
	);
	expect(await stand.call("GET", `${path}?cursor=x`)).toMatchObject({ status: 400 });
	const unknown = id.replace(/^ex_0/, "ex_1");
	expect(await stand.call("GET", `/v1/executions/${unknown}/attempts?cursor=x`)).toMatchObject({ status: 404 });
	expect(await stand.call("GET", `${path}?limit=1001`)).toMatchObject({ status: 400 });
});
