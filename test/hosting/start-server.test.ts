import { createHash } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { type StartServerOptions, startServer } from "../../src/hosting/index.ts";
import { FlowFabric } from "../../src/index.ts";

async function started(options: StartServerOptions = {}) {
	const server = await startServer({ store: "memory:", listen: "127.0.0.1:0", ...options });
	onTestFinished(() => server.close());
	return server;
}

test("a program serves, works and submits in one process, and others reach it by its URL", async () => {
	const { url, ff } = await started();
	const worker = ff.worker({ handleSignals: false }).handle("double", (_ctx, n: number) => 2 * n);
	await worker.start();
	const elsewhere = FlowFabric.connect(url);
	onTestFinished(() => elsewhere.close());
	expect(await (await elsewhere.submit("double", 21)).result()).toBe(42);
	expect(await (await ff.submit("double", 4)).result()).toBe(8);
});

test("close() stops the workers and lets go of the store; said twice it is one", async () => {
	const { url, ff, close } = await started();
	const worker = ff.worker({ handleSignals: false }).handle("job", () => "done");
	await worker.start();
	await Promise.all([close(), close()]);
	await expect(fetch(`${url}/healthz`)).rejects.toThrow();
	await expect(ff.submit("job")).rejects.toMatchObject({ code: "shutting_down" });
});

test("what was opened already is served, and stays open", async () => {
	const ff = await FlowFabric.open("memory:");
	onTestFinished(() => ff.close());
	const server = await startServer({ ff, listen: { host: "127.0.0.1", port: 0 } });
	const { id } = await ff.submit("job");
	expect(await (await fetch(`${server.url}/v1/executions/${id}`)).json()).toMatchObject({ id, kind: "job" });
	await server.close();
	expect((await ff.get(id)).kind).toBe("job");
});

test("tokens are asked for, by their hash or as they are", async () => {
	const hash = createHash("sha256").update("reads-and-no-more").digest("hex");
	const { url } = await started({
		token: "sixteen-characters",
		tokens: [{ name: "reader", role: "viewer", hash }],
	});
	const status = async (token: string, method: string) =>
		(await fetch(`${url}/v1/executions`, { method, headers: { authorization: `Bearer ${token}` } })).status;
	expect(await status("nobody's token", "GET")).toBe(401);
	expect(await status("reads-and-no-more", "GET")).toBe(200);
	expect(await status("reads-and-no-more", "POST")).toBe(403);
	expect(await status("sixteen-characters", "GET")).toBe(200);
});

test.each<[string, object, string]>([
	["a mistyped option", { lissten: "127.0.0.1:0" }, "lissten: is not an option of startServer; did you mean listen?"],
	["a mistyped pool", { pools: { claim: 1 } }, "claim: is not an option of pools; did you mean claims?"],
	["an address that is none", { listen: "9090" }, "listen: must be host:port"],
	["an open door", { listen: "0.0.0.0:0" }, "listen: 0.0.0.0 (0.0.0.0) can be reached from other machines"],
	["a short token", { token: "short" }, "token: must be at least 16 characters long"],
	["a token without a role", { tokens: [{ name: "a", hash: "b" }] }, "tokens[0].role: must be one of viewer"],
	["a time that is none", { graceMs: -1 }, "graceMs: must be an integer"],
	["an option of the engine", { retentionMs: -1 }, "retentionMs: must be an integer"],
	["a store nobody knows", { store: "mongodb://here" }, "store URL mongodb://here: must be"],
	["no options at all", null as never, "options: must be an object"],
])("%s is refused by name", async (_what, options, message) => {
	const given = options && { store: "memory:", ...options };
	await expect(startServer(given)).rejects.toMatchObject({ message: expect.stringContaining(message) });
});

test("ff goes with nothing that says how to open a store, and must be in this process", async () => {
	const ff = await FlowFabric.open("memory:");
	onTestFinished(() => ff.close());
	await expect(startServer({ ff, store: "memory:" })).rejects.toThrow("store: says how to open a store");
	await expect(startServer({ ff, partitions: 2 })).rejects.toThrow("partitions: says how to open a store");
	const far = FlowFabric.connect("http://127.0.0.1:9");
	onTestFinished(() => far.close());
	await expect(startServer({ ff: far })).rejects.toThrow("ff: must come from FlowFabric.open");
});

test("a port that is in use is told, and the store is let go of", async () => {
	const { url } = await started();
	await expect(started({ listen: new URL(url).host })).rejects.toThrow(/^listen: \d+ on 127\.0\.0\.1 is in use/);
});
