import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Program } from "./processes.ts";

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const LISTENING = /(http:\/\/127\.0\.0\.1:\d+)/;

let folder: string;
let running: Program[];
beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-cli-"));
	running = [];
});
afterEach(async () => {
	await Promise.all(running.map((program) => program.stop("SIGKILL")));
	await rm(folder, { recursive: true });
});

function flowfabric(args: readonly string[], env: Record<string, string> = {}): Program {
	const program = new Program(process.execPath, [main, ...args], { cwd: folder, env });
	running.push(program);
	return program;
}

describe("serve", () => {
	test.each(["SIGINT", "SIGTERM"] as const)(
		"starts, is asked, and ends with 0 on %s; what was accepted is kept",
		async (signal) => {
			const first = flowfabric(["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
			const [, url = ""] = await first.says(LISTENING);
			const submit = flowfabric(["submit", "thing", '{"a": 1}', "--url", url]);
			expect(await submit.ended()).toBe(0);
			const id = submit.out.trim();
			expect(await first.stop(signal)).toBe(0);
			for (const line of first.out.trim().split("\n")) expect(() => JSON.parse(line)).not.toThrow();

			const second = flowfabric(["serve", "--listen", "127.0.0.1:0"]);
			const [, again = ""] = await second.says(LISTENING);
			const get = flowfabric(["get", id, "--url", again]);
			expect(await get.ended()).toBe(0);
			expect(get.out).toMatch(/^state +waiting$/m);
			expect(await second.stop()).toBe(0);
		},
	);

	test("a waiting call does not hold up the end", async () => {
		const server = flowfabric(["serve", "--store", "memory:", "--listen", "127.0.0.1:0"]);
		const [, url = ""] = await server.says(LISTENING);
		const submit = flowfabric(["submit", "thing", "--url", url]);
		await submit.ended();
		const wait = flowfabric(["wait", submit.out.trim(), "--url", url, "--timeout", "1h"]);
		const startedAt = performance.now();
		expect(await server.stop()).toBe(0);
		expect(performance.now() - startedAt).toBeLessThan(15_000);
		await wait.stop("SIGKILL");
	});

	test("a connection that says nothing does not hold up the end", async () => {
		const server = flowfabric(["serve", "--listen", "127.0.0.1:0"]);
		const [, url = ""] = await server.says(LISTENING);
		const silent = connect(Number(new URL(url).port), "127.0.0.1");
		silent.on("error", () => {});
		await once(silent, "connect");
		const startedAt = performance.now();
		expect(await server.stop("SIGTERM")).toBe(0);
		expect(performance.now() - startedAt).toBeLessThan(10_000);
		expect(server.out + server.err).not.toMatch(/aborted|not closed/);
		silent.destroy();
	});

	test("a bad setting stops the start with 2, by its name", async () => {
		const server = flowfabric(["serve"], { FF_LISTEN_ADDR: "everywhere" });
		expect(await server.ended()).toBe(2);
		expect(server.err).toMatch(/^flowfabric: FF_LISTEN_ADDR: must be host:port .*, got "everywhere"\n$/);
		expect(server.out).toBe("");
	});

	test("other addresses than loopback need a token", async () => {
		const server = flowfabric(["serve", "--listen", "0.0.0.0:0"]);
		expect(await server.ended()).toBe(2);
		expect(server.err).toMatch(/FF_LISTEN_ADDR \(--listen\): 0\.0\.0\.0 .* no token is configured/);
	});

	test("a port that is taken is told with --listen", async () => {
		const other = createServer().listen(0, "127.0.0.1");
		await once(other, "listening");
		const { port } = other.address() as AddressInfo;
		const server = flowfabric(["serve", "--listen", `127.0.0.1:${port}`]);
		expect(await server.ended()).toBe(2);
		expect(server.err).toContain(`FF_LISTEN_ADDR (--listen): ${port} on 127.0.0.1 is in use by another program`);
		other.close();
	});
});

describe("dev", () => {
	test("sample work is done before one's eyes, Ctrl-C ends it with 0", async () => {
		const dev = flowfabric(["dev", "--listen", "127.0.0.1:0"]);
		await dev.says(/Ctrl-C stops it\./);
		const [, url = ""] = await dev.says(LISTENING);
		expect(dev.out).toContain(`${url}/docs`);
		expect(dev.out).toMatch(/fails twice, is retried +retry_scheduled/);
		expect(dev.out).toMatch(/fails twice, is retried +result +"worked at attempt 2"/);
		expect(dev.out).toMatch(/tells how far it is +progress +40 %, step 2 of 5/);
		expect(dev.out).toMatch(/its machine vanished +lease_expired/);
		expect(dev.out).toMatch(/its machine vanished +result +"3 steps done by attempt 1"/);
		expect(dev.out).toMatch(/works at once +result +"hello, world"/);

		const submit = flowfabric(["submit", "greet", '{"name": "you"}', "--url", url, "--wait"]);
		expect(await submit.ended()).toBe(0);
		expect(submit.out).toContain('"hello, you"');

		const startedAt = performance.now();
		expect(await dev.stop()).toBe(0);
		expect(performance.now() - startedAt).toBeLessThan(15_000);
		expect(dev.out).toMatch(/Stopped\./);
		expect(dev.err).toBe("");
	});

	test("Ctrl-C in the middle of the samples ends it too", async () => {
		const dev = flowfabric(["dev", "--listen", "127.0.0.1:0"]);
		await dev.says(/progress/);
		expect(await dev.stop()).toBe(0);
	});

	test("twice in one directory: the second says what to do", async () => {
		const first = flowfabric(["dev", "--listen", "127.0.0.1:0"]);
		await first.says(LISTENING);
		const second = flowfabric(["dev", "--listen", "127.0.0.1:0"]);
		expect(await second.ended()).toBe(1);
		expect(second.err).toMatch(/flowfabric-dev\.db: another engine has this store open.*--store.*\(store_in_use\)/);
		await first.stop();
	});
});
