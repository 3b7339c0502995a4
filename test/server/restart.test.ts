import { expect, onTestFinished, test } from "vitest";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { FlowFabric } from "../../src/index.ts";
import { openBackend } from "../../src/library/open.ts";
import type { RunningServer } from "../../src/server/options.ts";
import { serveEngine } from "../../src/server/server.ts";
import { freePort } from "../servers/valkey-server.ts";
import { until } from "./stand.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

const serve = (backend: LocalBackend, port: number): Promise<RunningServer> =>
	serveEngine({
		engine: backend.engine,
		backendFor: (caller) => backend.as(caller),
		port,
		docs: false,
		graceMs: 100,
	});

test("a worker and a submitter over HTTP live through restarts of the server; nothing is lost or run twice", async () => {
	const backend = await openBackend("memory:", {});
	let server = await serve(backend, await freePort());
	const { port, address } = server;
	const ff = FlowFabric.connect(address);
	const runs = new Map<number, number>();
	const worker = ff.worker({ concurrency: 8, handleSignals: false, log: quiet });
	worker.handle("count", (_ctx, n: number) => {
		runs.set(n, (runs.get(n) ?? 0) + 1);
		return n * 2;
	});
	await worker.start();
	onTestFinished(async () => {
		await ff.close();
		await server.close();
		await backend.close();
	});
	const results: Promise<number>[] = [];
	for (let n = 0; n < 60; n++) {
		const run = await ff.submit("count", n, { idempotencyKey: `n-${n}` });
		results.push(run.result());
		if (n % 20 === 10) {
			await server.close();
			server = await serve(backend, port);
		}
	}
	expect(await Promise.all(results)).toEqual(Array.from({ length: 60 }, (_, n) => n * 2));
	expect([...runs.values()].every((count) => count === 1)).toBe(true);
});

test("an outage while a handler runs ends with its outcome told, under the same lease", async () => {
	const backend = await openBackend("memory:", {});
	let server = await serve(backend, await freePort());
	const { port, address } = server;
	const ff = FlowFabric.connect(address, { timeoutMs: 1000 });
	let finish = () => {};
	const finished = new Promise<void>((resolve) => (finish = resolve));
	const worker = ff.worker({ handleSignals: false, log: quiet });
	let began = false;
	worker.handle("slow", async () => {
		began = true;
		await finished;
		return "done";
	});
	await worker.start();
	onTestFinished(async () => {
		await ff.close();
		await server.close();
		await backend.close();
	});
	const { id } = await ff.submit("slow");
	await until(() => began);
	await server.close();
	finish();
	server = await serve(backend, port);
	await until(async () => (await backend.executions.get(id)).publicState === "completed");
	expect((await backend.executions.attempts(id)).length).toBe(1);
});
