import { expect, test } from "vitest";
import { MAX_NESTING } from "../../src/server/bodies.ts";
import { Stand } from "./stand.ts";

const nested = (levels: number): string => `{"kind":"job","input":${"[".repeat(levels)}${"]".repeat(levels)}}`;

test("a body that is no JSON, no UTF-8 or of another type is refused as invalid_input and makes nothing", async () => {
	const stand = await Stand.open();
	const bad: [body: string | Uint8Array<ArrayBuffer>, type: string, field: string][] = [
		['{"kind":', "application/json", "body"],
		["kind=job", "application/x-www-form-urlencoded", "content-type"],
		["<kind/>", "text/xml", "content-type"],
		[Uint8Array.from([0x7b, 0xff, 0x7d]), "application/json", "body"],
		["\ufeff{}", "application/json", "body"],
	];
	for (const [body, type, field] of bad) {
		const response = await fetch(`${stand.server.address}/v1/executions`, {
			method: "POST",
			headers: { "content-type": type },
			body,
		});
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ error: { code: "invalid_input", details: { field } } });
	}
	expect((await stand.backend.executions.list()).executions).toEqual([]);
});

test("JSON may be nested so deep and no deeper, and brackets inside strings do not count", async () => {
	const stand = await Stand.open();
	const post = (body: string) => stand.call("POST", "/v1/executions", { body });
	expect((await post(nested(MAX_NESTING - 1))).status).toBe(201);
	expect(await post(nested(MAX_NESTING))).toMatchObject({
		status: 400,
		json: { error: { code: "invalid_input", details: { field: "body" } } },
	});
	expect((await post(nested(500_000))).status).toBe(400);
	const text = JSON.stringify({ kind: "job", input: `${'\\"['.repeat(2000)}\\` });
	expect((await post(text)).status).toBe(201);
});

test("a key named __proto__ is data and reaches nobody's prototype", async () => {
	const stand = await Stand.open();
	const made = await stand.call("POST", "/v1/executions", {
		body: '{"kind":"job","input":{"__proto__":{"polluted":true}}}',
	});
	expect(made.status).toBe(201);
	expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
	const input = await stand.call("GET", `/v1/executions/${made.json.id}/input`);
	expect(input.text).toBe('{"__proto__":{"polluted":true}}');
	const field = await stand.call("POST", "/v1/executions", { body: '{"kind":"job","__proto__":{"x":1}}' });
	expect(field).toMatchObject({ status: 400, json: { error: { details: { field: "__proto__" } } } });
});

test("bodies over the limit of their route are payload_too_large with limit and route, said or streamed", async () => {
	const stand = await Stand.open();
	const { id } = await stand.held();
	const limits: [path: string, route: string, limit: number][] = [
		["/v1/executions", "POST /v1/executions", 1.5 * 1024 * 1024],
		[`/v1/executions/${id}/cancel`, "POST /v1/executions/:id/cancel", 64 * 1024],
		[`/v1/executions/${id}/complete`, "POST /v1/executions/:id/complete", 1.5 * 1024 * 1024],
		["/v1/leases/renew", "POST /v1/leases/renew", 256 * 1024],
		["/v1/executions/batch", "POST /v1/executions/batch", 32 * 1024 * 1024],
		["/v1/leases/complete", "POST /v1/leases/complete", 32 * 1024 * 1024],
		["/v1/flows", "POST /v1/flows", 32 * 1024 * 1024],
		["/v1/flows/x/members", "POST /v1/flows/:id/members", 1.5 * 1024 * 1024],
		["/v1/flows/x/edges", "POST /v1/flows/:id/edges", 64 * 1024],
	];
	for (const [path, route, limit] of limits) {
		const body = " ".repeat(limit + 1);
		const said = await stand.call("POST", path, { body });
		expect(said).toMatchObject({
			status: 413,
			json: { error: { code: "payload_too_large", retryable: false, details: { limit, route } } },
		});
	}
	const { socket, heard, closed } = stand.socket();
	socket.write(
		"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
	);
	const chunk = " ".repeat(64 * 1024);
	for (let n = 0; n < 25; n++) socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
	socket.end("0\r\n\r\n");
	await closed;
	expect(heard()).toContain("payload_too_large");
	expect((await stand.backend.executions.get(id)).publicState).toBe("active");
});

test("a body of a megabyte of bytes fits, whatever they are", async () => {
	const stand = await Stand.open();
	const inputBase64 = Buffer.alloc(1024 * 1024, 0xff).toString("base64");
	const { status, json } = await stand.call("POST", "/v1/executions", { body: { kind: "job", inputBase64 } });
	expect(status).toBe(201);
	const response = await fetch(`${stand.server.address}/v1/executions/${json.id}/input`);
	expect(response.headers.get("content-type")).toBe("application/octet-stream");
	expect(response.headers.get("x-content-type-options")).toBe("nosniff");
	expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), Buffer.alloc(1024 * 1024, 0xff))).toBe(0);
});

test("a request that is cut short makes nothing and holds nothing up", async () => {
	const stand = await Stand.open();
	const { socket, closed } = stand.socket();
	socket.write(
		'POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"kind":',
	);
	socket.end();
	await closed;
	expect((await stand.call("GET", "/v1/executions")).json.executions).toEqual([]);
});

test("heads and bodies that trickle in are cut with request_timeout", async () => {
	const stand = await Stand.open({ requestTimeoutMs: 200 });
	for (const begun of [
		"GET /v1/executions HTTP/1.1\r\nHost: localhost\r\nX-Slow:",
		"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	]) {
		const { socket, heard, closed } = stand.socket();
		socket.write(begun);
		await closed;
		expect(heard()).toMatch(/^HTTP\/1.1 504 /);
		expect(heard()).toContain('"code":"request_timeout"');
	}
});

test("what is not HTTP, and heads that are too long, get an answer in the same form", async () => {
	const stand = await Stand.open();
	for (const sent of ["HELLO\r\n\r\n", `GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ${"x".repeat(20_000)}\r\n\r\n`]) {
		const { socket, heard, closed } = stand.socket();
		socket.write(sent);
		await closed;
		expect(heard()).toMatch(/^HTTP\/1.1 400 /);
		expect(heard()).toContain('"code":"invalid_input"');
	}
});
