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
