import { expect, test } from "vitest";
import { entry, Stand, tokenOf } from "./stand.ts";

test("replies are guarded, not cached, and carry a request id", async () => {
	const stand = await Stand.open();
	const { headers } = await stand.call("GET", "/v1/executions");
	expect(headers.get("x-content-type-options")).toBe("nosniff");
	expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
	expect(headers.get("referrer-policy")).toBe("no-referrer");
	expect(headers.get("cache-control")).toBe("no-store");
	expect(headers.get("x-request-id")).toMatch(/^[\w-]+$/);
});

test("a sane request id is kept, another is replaced", async () => {
	const stand = await Stand.open();
	const idFor = async (id: string) =>
		(await stand.call("GET", "/healthz", { headers: { "x-request-id": id } })).headers.get("x-request-id");
	expect(await idFor("trace.7:a-b_c")).toBe("trace.7:a-b_c");
	for (const bad of ["a b", "x".repeat(129), '"}{']) expect(await idFor(bad)).not.toBe(bad);
});

test("other origins are let in only when configured", async () => {
	const origin = "https://app.example";
	const closed = await Stand.open();
	expect(
		(await closed.call("GET", "/healthz", { headers: { origin } })).headers.get("access-control-allow-origin"),
	).toBe(null);
	const open = await Stand.open({ corsOrigins: [origin], adminToken: "a-long-admin-token" });
	const asked = await open.call("OPTIONS", "/v1/executions", {
		headers: { origin, "access-control-request-method": "POST" },
	});
	expect(asked.headers.get("access-control-allow-origin")).toBe(origin);
	const other = await open.call("GET", "/healthz", { headers: { origin: "https://evil.example" } });
	expect(other.headers.get("access-control-allow-origin")).not.toBe("https://evil.example");
});

test("without tokens only names of this machine are answered, whatever a name elsewhere was made to point to", async () => {
	const stand = await Stand.open();
	const statusFor = async (host: string) => {
		const { socket, heard, closed } = stand.socket();
		socket.write(`GET /v1/lanes HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
		await closed;
		return heard().slice("HTTP/1.1 ".length, "HTTP/1.1 200".length);
	};
	for (const host of ["localhost", "LOCALHOST:9090", "127.0.0.1:80", "127.9.9.9", "[::1]:9090", "app.localhost"])
		expect([host, await statusFor(host)]).toEqual([host, "200"]);
	for (const host of [
		"evil.example",
		"evil.example:9090",
		"10.0.0.1",
		"localhost.evil.example",
		"127.0.0.1.evil.example",
	])
		expect([host, await statusFor(host)]).toEqual([host, "403"]);
	const guarded = await Stand.open({ tokens: [entry("ada", "admin")] });
	const headers = { authorization: `Bearer ${tokenOf("ada")}` };
	expect(
		(await guarded.call("GET", "/v1/lanes", { headers: { ...headers, origin: "https://evil.example" } })).status,
	).toBe(200);
});

test("without tokens a page of another site can change nothing and read nothing", async () => {
	const stand = await Stand.open({ docs: true, corsOrigins: ["https://app.example"] });
	const from = async (origin: string, method: string, path: string) =>
		(await stand.call(method, path, { headers: { origin }, ...(method === "POST" ? { body: {} } : undefined) })).status;
	for (const [method, path] of [
		["POST", "/v1/lanes/default/pause"],
		["GET", "/v1/executions"],
		["GET", "/docs"],
		["GET", "/nowhere"],
	] as const) {
		for (const origin of ["https://evil.example", "null", "http://localhost:1", `${stand.server.address}0`])
			expect([origin, path, await from(origin, method, path)]).toEqual([origin, path, 403]);
	}
	expect((await stand.call("GET", "/v1/lanes")).json.lanes).toEqual([]);
	for (const origin of ["https://app.example", stand.server.address])
		expect(await from(origin, "POST", "/v1/lanes/default/pause")).toBe(200);
});

test("what a tenant stored never becomes a page, and no reply is sniffed", async () => {
	const stand = await Stand.open({ docs: true });
	const page = Buffer.from("<script>alert(1)</script>").toString("base64");
	const body = { kind: "page", inputBase64: page, contentType: "text/html" };
	const { id } = (await stand.call("POST", "/v1/executions", { body })).json;
	const { headers } = await stand.call("GET", `/v1/executions/${id}/input`);
	expect(headers.get("content-type")).toBe("text/html");
	expect(headers.get("content-disposition")).toBe("attachment");
	expect(headers.get("content-security-policy")).toContain("default-src 'none'");
	for (const path of ["/docs", "/docs/page.css", "/nowhere", "/healthz", "/openapi.json"]) {
		const reply = await stand.call("GET", path);
		expect([path, reply.headers.get("x-content-type-options")]).toEqual([path, "nosniff"]);
		expect([path, reply.headers.get("content-security-policy")]).toEqual([
			path,
			expect.stringContaining("frame-ancestors"),
		]);
	}
});

test("the log has one start line, a debug line per claim, none per call, and no secret or payload", async () => {
	const stand = await Stand.open({ tokens: [entry("ada", "admin")], storeName: "memory:" });
	const token = tokenOf("ada");
	await stand.call("POST", "/v1/executions", { token, body: { kind: "job", input: "a-payload" } });
	await stand.call("POST", "/v1/claims", { token, body: { workerId: "w", instanceId: "i" } });
	expect(stand.log.map(({ msg }) => msg)).toEqual(["flowfabric is listening", "claim"]);
	expect(stand.log[0]).toMatchObject({ store: "memory:", partitions: 1, address: stand.server.address });
	expect(stand.log[0]?.version).toMatch(/^\d+\.\d+\.\d+/);
	expect(stand.log[1]).toMatchObject({ probed: expect.any(Number), skipped: 0, hit: 1, ms: expect.any(Number) });
	expect(JSON.stringify(stand.log)).not.toMatch(/a-payload|secret-token/);
});
