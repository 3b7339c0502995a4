import { expect, test } from "vitest";
import { entry, Stand, tokenOf } from "./stand.ts";

test("metrics tell what was done, through any caller", async () => {
	const stand = await Stand.open();
	const ff = stand.connect();
	const runs = await Promise.all([ff.submit("job"), ff.submit("job"), ff.submit("job", 1, { lane: "other" })]);
	expect(runs).toHaveLength(3);
	const claimed = await ff.backend.leases.claim({ workerId: "w", instanceId: "w-1", max: 2 });
	const fences = claimed.map(({ id, lease }) => ({ executionId: id, leaseId: lease.id, epoch: lease.epoch }));
	await ff.backend.leases.renew({ leases: fences });
	const [{ executionId: first = "", ...fence } = {} as never] = fences;
	await ff.backend.leases.complete(first, { fence });
	await ff.cancel("x").catch(() => {});
	const { text, headers } = await stand.call("GET", "/metrics");
	expect(headers.get("content-type")).toContain("text/plain");
	const value = (line: string) =>
		Number(new RegExp(`^${line.replace(/[{}]/g, "\\$&")} ([\\d.e+-]+)$`, "m").exec(text)?.[1]);
	expect(value('flowfabric_commands_total{op="create",outcome="ok"}')).toBe(3);
	expect(value('flowfabric_commands_total{op="complete",outcome="ok"}')).toBe(1);
	expect(value('flowfabric_claim_seconds_count{outcome="hit"}')).toBe(1);
	expect(value('flowfabric_dispatch_seconds_count{lane="default"}')).toBe(2);
	expect(value("flowfabric_leases_renewed_total")).toBe(2);
	expect(value("flowfabric_leases_live")).toBe(1);
	expect(value('flowfabric_leases_ended_total{by="complete"}')).toBe(1);
	expect(value('flowfabric_attempts_total{outcome="ended_success"}')).toBe(1);
	expect(value("flowfabric_commit_seconds_count")).toBeGreaterThan(0);
	expect(value('flowfabric_http_request_seconds_count{route="POST /v1/executions/:id/cancel",status="400"}')).toBe(1);
	expect(value('flowfabric_queue_depth{namespace="default",lane="default",state="active"}')).toBe(1);
	expect(value('flowfabric_queue_depth{namespace="default",lane="default",state="completed"}')).toBe(1);
	expect(value('flowfabric_queue_depth{namespace="default",lane="other",state="waiting"}')).toBe(1);
	expect(value('flowfabric_queue_oldest_seconds{namespace="default",lane="other"}')).toBeGreaterThanOrEqual(0);
	expect(text).not.toContain('flowfabric_queue_oldest_seconds{namespace="default",lane="default"}');
	expect(text).toContain("flowfabric_nodejs_eventloop_lag_seconds");
});

test("metrics are for loopback; behind a proxy a token that may read is needed, unless they are opened", async () => {
	const tokens = [entry("ada", "viewer"), entry("sam", "submitter")];
	const stand = await Stand.open({ tokens });
	expect((await stand.call("GET", "/metrics")).status).toBe(200);
	const forwarded = { "x-forwarded-for": "203.0.113.9" };
	expect((await stand.call("GET", "/metrics", { headers: forwarded })).status).toBe(401);
	expect((await stand.call("GET", "/metrics", { headers: forwarded, token: tokenOf("sam") })).status).toBe(403);
	expect((await stand.call("GET", "/metrics", { headers: forwarded, token: tokenOf("ada") })).status).toBe(200);
	const open = await Stand.open({ tokens, openMetrics: true });
	expect((await open.call("GET", "/metrics", { headers: forwarded })).status).toBe(200);
});

test("health is open, readiness follows the store", async () => {
	const stand = await Stand.open({ tokens: [entry("ada", "viewer")] });
	expect(await stand.call("GET", "/healthz")).toMatchObject({ status: 200, json: { status: "ok" } });
	expect((await stand.call("GET", "/readyz")).status).toBe(200);
	await stand.backend.close();
	expect((await stand.call("GET", "/metrics")).status).toBe(200);
	expect((await stand.call("GET", "/healthz")).status).toBe(200);
	expect((await stand.call("GET", "/readyz")).status).toBe(503);
});
