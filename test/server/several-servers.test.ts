import { createServer, type Server, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { FlowFabric, type FlowFabricError } from "../../src/index.ts";
import { openBackend } from "../../src/library/open.ts";
import type { RunningServer } from "../../src/server/options.ts";
import { serveEngine } from "../../src/server/server.ts";
import { freePort } from "../servers/valkey-server.ts";
import { until } from "./stand.ts";

const serve = (backend: LocalBackend, port = 0): Promise<RunningServer> =>
	serveEngine({
		engine: backend.engine,
		backendFor: (caller) => backend.as(caller),
		port,
		docs: false,
		graceMs: 100,
	});

/** Two servers of one store, and a client that knows both. */
async function twoServers() {
	const backend = await openBackend("memory:", {});
	const servers = [await serve(backend), await serve(backend)] as const;
	const ff = FlowFabric.connect(servers.map(({ address }) => address));
	onTestFinished(async () => {
		await ff.close();
		for (const server of servers) await server.close();
		await backend.close();
	});
	return { backend, servers, ff };
}

test("a worker and the reader of a tail go on with the next server when theirs is stopped, and come back", async () => {
	const { backend, servers, ff } = await twoServers();
	const [first, second] = servers;
	const warnings: string[] = [];
	const log = { debug() {}, info() {}, warn: (line: string) => void warnings.push(line), error() {} };
	const worker = ff.worker({ handleSignals: false, log });
	const runs: number[] = [];
	worker.handle("count", async (ctx, n: number) => {
		runs.push(n);
		await ctx.stream.write(`${n} begins`);
		if (n === 0) {
			await first.close();
			await ctx.stream.write("0 goes on");
		}
		return n * 2;
	});
	await worker.start();
	const run = await ff.submit("count", 0);
	const frames: (string | undefined)[] = [];
	for await (const { text } of run.tail()) frames.push(text);
	expect(frames).toEqual(["0 begins", "0 goes on"]);
	expect(await run.result()).toBe(0);

	const back = await serve(backend, first.port);
	onTestFinished(() => back.close());
	await second.close();
	expect(await (await ff.submit("count", 1, { idempotencyKey: "one" })).result()).toBe(2);
	await worker.stop();
	expect(runs).toEqual([0, 1]);
	// Nobody was away for long: there was always one to go on with.
	expect(warnings).toEqual([]);
});

test("a worker hears of a cancel although the server is gone that it got its work from", async () => {
	const { servers, ff } = await twoServers();
	const worker = ff.worker({ handleSignals: false, log: quiet, leaseMs: 3000 });
	let reason: unknown;
	worker.handle("endless", async (ctx) => {
		await servers[0].close();
		await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
		reason = ctx.signal.reason;
	});
	await worker.start();
	const run = await ff.submit("endless");
	await until(async () => (await run.get()).publicState === "active");
	await run.cancel({ graceMs: 60_000 });
	await until(() => reason);
	expect(String(reason)).toMatch(/cancel/);
});

test("a write that may have been received is not sent to the next server", async () => {
	const backend = await openBackend("memory:", {});
	const real = await serve(backend);
	const received: string[] = [];
	const breaking = await listen((socket) =>
		socket.on("data", (data) => {
			received.push(data.toString());
			socket.destroy();
		}),
	);
	const ff = FlowFabric.connect([breaking.url, real.address]);
	onTestFinished(async () => {
		await ff.close();
		await real.close();
		await backend.close();
	});
	const failed = (await ff.submit("job", 1).catch((error) => error)) as FlowFabricError;
	expect([failed.code, failed.details]).toEqual(["unreachable", { server: breaking.url }]);
	expect((await ff.list()).executions).toEqual([]);
	expect(received).toHaveLength(1);
	// The next call goes to the other one, and under a key so does the same.
	expect((await ff.submit("job", 1, { idempotencyKey: "once" })).created).toBe(true);
});

test("an empty list of servers and one that is none are refused", () => {
	expect(() => FlowFabric.connect([])).toThrow("url: must be the address of a server, or an array of 1 to 32 of them");
	expect(() => FlowFabric.connect(["http://127.0.0.1:1", "nonsense"])).toThrow(
		"url: must be an http:// or https:// address without user, query and fragment",
	);
});

test.each([
	["accepts and never answers", true],
	["is gone", false],
])("a worker with nothing to do stops within a second although its server %s", async (_what, hangs) => {
	const backend = await openBackend("memory:", {});
	const port = await freePort();
	const server = await serve(backend, port);
	const ff = FlowFabric.connect(server.address);
	const warnings: string[] = [];
	const log = { debug() {}, info() {}, warn: (line: string) => void warnings.push(line), error() {} };
	const worker = ff.worker({ handleSignals: false, log }).handle("job", () => {});
	await worker.start();
	await server.close();
	await backend.close();
	if (hangs) await listen(() => {}, port);
	await until(() => hangs || warnings.length > 0);
	const before = performance.now();
	await worker.stop();
	expect(performance.now() - before).toBeLessThan(1000);
	await ff.close();
});

test("an outage is told once, with the server's address, and so is its end", async () => {
	const backend = await openBackend("memory:", {});
	let server = await serve(backend, await freePort());
	const { port, address } = server;
	const ff = FlowFabric.connect(address, { timeoutMs: 100 });
	const warnings: string[] = [];
	const log = { debug() {}, info() {}, warn: (line: string) => void warnings.push(line), error() {} };
	const worker = ff.worker({ handleSignals: false, log, leaseMs: 600 }).handle("job", () => {});
	onTestFinished(async () => {
		await ff.close();
		await server.close();
		await backend.close();
	});
	await worker.start();
	await server.close();
	await until(() => warnings.length > 0);
	server = await serve(backend, port);
	await until(() => warnings.length > 1);
	expect(warnings).toEqual([
		expect.stringMatching(`^the server at ${address} does not answer \\(.*\\); trying again until it does$`),
		expect.stringMatching(`^the server at ${address} answers again after \\d+ s$`),
	]);
});

test("fifty handlers and fifty waits on one signal raise no warning about listeners", async () => {
	const { ff } = await twoServers();
	const raised: Error[] = [];
	const note = (warning: Error) => void raised.push(warning);
	process.on("warning", note);
	onTestFinished(() => void process.off("warning", note));
	const worker = ff.worker({ handleSignals: false, log: quiet, concurrency: 50 });
	const shared = new AbortController();
	let waiting = 0;
	worker.handle("wait", async (ctx) => {
		for (let n = 0; n < 50; n++) ctx.signal.addEventListener("abort", () => {});
		waiting += 1;
		await until(() => shared.signal.aborted);
	});
	await worker.start();
	const runs = await Promise.all(Array.from({ length: 50 }, () => ff.submit("wait")));
	const waits = runs.map((run) => run.wait({ signal: shared.signal }).catch(() => {}));
	const tails = runs.map(async (run) => {
		for await (const _ of run.tail({ signal: shared.signal }));
	});
	await until(() => waiting === 50);
	shared.abort();
	await Promise.all([...waits, ...tails]);
	await new Promise((resolve) => setImmediate(resolve));
	expect(raised).toEqual([]);
});

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** A server of bare bytes. */
async function listen(take: (socket: Socket) => void, port = 0): Promise<{ url: string; server: Server }> {
	const sockets = new Set<Socket>();
	const server = createServer((socket) => {
		sockets.add(socket);
		socket.on("error", () => {});
		take(socket);
	});
	await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
	onTestFinished(() => {
		for (const socket of sockets) socket.destroy();
		server.close();
	});
	return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, server };
}
