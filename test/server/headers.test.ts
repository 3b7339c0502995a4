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

test("what is refused before it is a request is no page either, and not answered to other sites", async () => {
	const stand = await Stand.open();
	const statusOf = async (text: string): Promise<string> => {
		const { socket, heard, closed } = stand.socket();
		socket.write(text);
		await closed;
		expect([text, heard()]).toEqual([text, expect.stringMatching(/x-content-type-options: nosniff/i)]);
		expect([text, heard()]).toEqual([text, expect.stringMatching(/content-security-policy: default-src 'none'/i)]);
		expect([text, heard()]).toEqual([text, expect.stringMatching(/"error":\{"code":"\w+"/)]);
		return heard().slice("HTTP/1.1 ".length, "HTTP/1.1 200".length);
	};
	const asked = (line: string, ...headers: string[]) =>
		[`GET ${line} HTTP/1.1`, ...headers, "Connection: close", "", ""].join("\r\n");
	const here = "Host: localhost";
	expect(await statusOf("no HTTP at all\r\n\r\n")).toBe("400");
	expect(await statusOf(asked("/nowhere", here, `X-Long: ${"x".repeat(20_000)}`))).toBe("400");
	expect(await statusOf(asked("/nowhere", here, "Expect: the unexpected"))).toBe("404");
	expect(await statusOf(asked("/%zz", here))).toBe("400");
	expect(await statusOf(asked(`/v1/executions/${"x".repeat(5000)}`, here))).toBe("400");
	expect(await statusOf(asked("/docs/nope", here))).toBe("404");
	expect(await statusOf(asked("/v1/lanes"))).toBe("403");
	for (const path of ["/%zz", `/v1/executions/${"x".repeat(5000)}`, "/docsx"])
		expect([path, await statusOf(asked(path, here, "Origin: http://evil.example"))]).toEqual([path, "403"]);
});

test("without tokens nothing is loaded into a page of another site; a link to here may be followed", async () => {
	const stand = await Stand.open({ docs: true });
	const status = async (site: string, mode: string) => {
		const { socket, heard, closed } = stand.socket();
		const fetched = `Sec-Fetch-Site: ${site}\r\nSec-Fetch-Mode: ${mode}`;
		socket.write(`GET /docs HTTP/1.1\r\nHost: localhost\r\n${fetched}\r\nConnection: close\r\n\r\n`);
		await closed;
		return heard().slice("HTTP/1.1 ".length, "HTTP/1.1 200".length);
	};
	for (const site of ["cross-site", "same-site"]) expect([site, await status(site, "no-cors")]).toEqual([site, "403"]);
	for (const site of ["same-origin", "none"]) expect([site, await status(site, "no-cors")]).toEqual([site, "200"]);
	expect(await status("cross-site", "navigate")).toBe("200");
	expect((await stand.call("GET", "/healthz")).headers.get("cross-origin-resource-policy")).toBe("same-origin");
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
