import { readFile } from "node:fs/promises";
import { PerformanceObserver } from "node:perf_hooks";
import { Registry } from "prom-client";
import { expect, test, vi } from "vitest";
import type { ScannerView } from "../../src/contract/replies.ts";
import { addScannerMetrics } from "../../src/server/scanner-metrics.ts";
import { entry, Stand, tokenOf } from "./stand.ts";

const PATIENT = { timeout: 20_000 };

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
	const oldest = 'flowfabric_queue_oldest_seconds{namespace="default",lane=';
	expect(value(`${oldest}"other",state="waiting"}`)).toBeGreaterThanOrEqual(0);
	expect(value(`${oldest}"default",state="active"}`)).toBeGreaterThanOrEqual(0);
	expect(text).not.toContain(`${oldest}"default",state="completed"}`);
	expect(text).toContain("flowfabric_nodejs_eventloop_lag_seconds");
});

test("servers of one process tell of it alike, and watch it once", async () => {
	const observed = vi.spyOn(PerformanceObserver.prototype, "observe");
	const cpuTime = async (stand: Stand) => (await scrape(stand))("process_cpu_seconds_total");
	for (const stand of [await Stand.open(), await Stand.open(), await Stand.open()]) {
		expect(await cpuTime(stand)).toBeGreaterThan(0);
		await stand.server.close();
	}
	expect(observed.mock.calls.length).toBeLessThanOrEqual(1);
	observed.mockRestore();
});

/** What a scrape says of one line; NaN when there is no such line. */
async function scrape(stand: Stand): Promise<(line: string) => number> {
	const { text } = await stand.call("GET", "/metrics");
	return (line) =>
		Number(new RegExp(`^flowfabric_${line.replace(/[{}]/g, "\\$&")} ([\\d.e+-]+)$`, "m").exec(text)?.[1]);
}

test("metrics count flows that were made, cancelled and ended", async () => {
	const stand = await Stand.open();
	const { flows, leases } = stand.backend;
	const nodes = [{ key: "a", kind: "job" }];
	await flows.create({ nodes });
	const [claimed] = await leases.claim({ workerId: "w", instanceId: "w-1" });
	const { id: leaseId = "", epoch = 0 } = claimed?.lease ?? {};
	await leases.complete(claimed?.id ?? "", { fence: { leaseId, epoch } });
	const { id } = await flows.create({ nodes });
	await flows.cancel(id, { policy: "cancel_all" }, { wait: true });
	const after = await scrape(stand);
	expect(after("flows_created_total")).toBe(2);
	expect(after('flows_ended_total{state="completed"}')).toBe(1);
	expect(after('flows_ended_total{state="cancelled"}')).toBe(1);
	expect(after('flow_cancels_total{policy="cancel_all"}')).toBe(1);
});

test("metrics tell of lanes that are not open, until they are again", async () => {
	const stand = await Stand.open();
	const { lanes } = stand.connect().backend;
	await lanes.pause("media");
	await lanes.drain("old", { namespace: "b" });
	const closed = await scrape(stand);
	expect(closed('lane_closed{namespace="default",lane="media",state="paused"}')).toBe(1);
	expect(closed('lane_closed{namespace="b",lane="old",state="draining"}')).toBe(1);
	await lanes.resume("media");
	expect((await scrape(stand))('lane_closed{namespace="default",lane="media",state="paused"}')).toBeNaN();
});

test("metrics tell of workers that come and go, and of work that waits for them", async () => {
	const stand = await Stand.open();
	const { workers, leases } = stand.connect().backend;
	const offer = { workerId: "w", capabilities: [], lanes: ["default"], ttlMs: 3000 };
	await workers.register("w-1", offer);
	await workers.register("w-1", offer);
	await workers.register("w-2", { ...offer, ttlMs: 60_000, namespace: "b" });
	const run = await stand.connect().submit("job", 1, { requiredCapabilities: ["gpu"] });
	await leases.claim({ workerId: "w", instanceId: "w-3" });
	await vi.waitFor(async () => expect((await run.get()).state.eligibilityState).toBe("blocked_by_route"), PATIENT);
	const before = await scrape(stand);
	expect(before("workers_registered_total")).toBe(2);
	expect(before('workers{namespace="b"}')).toBe(1);
	expect(before('blocked_total{reason="waiting_for_capable_worker",limit=""}')).toBe(1);
	expect(before('blocked{reason="waiting_for_capable_worker"}')).toBe(1);
	await vi.waitFor(async () => expect((await scrape(stand))("workers_expired_total")).toBe(1), PATIENT);
	await leases.claim({ workerId: "w", instanceId: "w-4", capabilities: ["gpu"] });
	const after = await scrape(stand);
	expect(after('workers{namespace="default"}')).toBe(1);
	expect(after("workers_registered_total")).toBe(3);
	expect(after('blocked{reason="waiting_for_capable_worker"}')).toBe(0);
});

test("metrics tell what became of reports of usage, by dimension where a limit was passed", async () => {
	const stand = await Stand.open();
	const { budgets } = stand.backend;
	await budgets.create({ id: "team", dimensions: { tokens: { soft: 5, hard: 10 }, calls: { hard: 1 } } });
	await budgets.usage("team", { dims: { tokens: 5 }, dedupKey: "k" });
	await budgets.usage("team", { dims: { tokens: 5 }, dedupKey: "k" });
	await budgets.usage("team", { dims: { tokens: 1 } });
	for (let n = 0; n < 3; n++) await budgets.usage("team", { dims: { calls: 2 } });
	const figure = await scrape(stand);
	expect(figure('usage_reports_total{outcome="ok",dimension=""}')).toBe(1);
	expect(figure('usage_reports_total{outcome="duplicate",dimension=""}')).toBe(1);
	expect(figure('usage_reports_total{outcome="soft_breach",dimension="tokens"}')).toBe(1);
	expect(figure('usage_reports_total{outcome="hard_breach",dimension="calls"}')).toBe(3);
});

test("metrics tell of suspensions, of how they ended, and of signals", async () => {
	const stand = await Stand.open();
	const { leases, waitpoints, executions } = stand.backend;
	const suspend = async (request: object) => {
		const { id, fence } = await stand.held();
		const condition = { allOf: [{ signal: "a" }, { signal: "b" }] };
		const reply = await leases.suspend(id, {
			...{ fence, reason: "waiting_for_operator_review", condition, waitpoints: [{ key: "w" }] },
			...request,
		});
		const [at] = reply.waitpoints;
		const send = (name: string, idempotencyKey = "") =>
			waitpoints.signal(id, { waitpointId: at?.id ?? "", token: at?.token ?? "", name, idempotencyKey });
		return { id, send };
	};
	const first = await suspend({});
	await first.send("a", "k");
	await first.send("a", "k");
	await first.send("x");
	const second = await suspend({ reason: "manual_pause" });
	const before = await scrape(stand);
	expect(before('suspended{reason="waiting_for_approval"}')).toBe(1);
	expect(before('suspended{reason="paused_by_operator"}')).toBe(1);
	expect(before('suspended{reason="waiting_for_signal"}')).toBe(0);
	await first.send("b");
	await executions.cancel(first.id);
	await waitpoints.resume(second.id);
	await executions.cancel(second.id);
	const timeouts = ["fail", "cancel", "expire", "resume", "escalate"] as const;
	for (const timeoutBehavior of timeouts) {
		const { id } = await suspend({ timeoutMs: 1, timeoutBehavior });
		await vi.waitFor(
			async () => expect((await executions.get(id)).state.blockingReason).not.toBe("waiting_for_approval"),
			PATIENT,
		);
		if (timeoutBehavior === "resume") await executions.cancel(id);
	}
	const after = await scrape(stand);
	expect(after('suspensions_total{reason="waiting_for_operator_review"}')).toBe(6);
	expect(after('suspensions_total{reason="manual_pause"}')).toBe(1);
	expect(["satisfied", "resumed", "timeout"].map((by) => after(`resumes_total{by="${by}"}`))).toEqual([1, 1, 1]);
	for (const behavior of timeouts) expect(after(`suspension_timeouts_total{behavior="${behavior}"}`)).toBe(1);
	const effects = ["appended", "duplicate", "ignored", "resumed"];
	expect(effects.map((effect) => after(`signals_total{effect="${effect}"}`))).toEqual([1, 1, 1, 1]);
	expect(after('suspended{reason="waiting_for_approval"}')).toBe(0);
	expect(after('suspended{reason="paused_by_operator"}')).toBe(1);
});

test("metrics tell of frames by their mode, and of those that follow", async () => {
	const stand = await Stand.open();
	const { id, fence } = await stand.held();
	const append = (...frames: object[]) => stand.backend.leases.appendFrames(id, { fence, frames });
	await append({ text: "a", seq: 1 }, { text: "b", seq: 2 }, { text: "c", mode: "best_effort" });
	await append({ text: "b", seq: 2 }, { mode: "summary", patch: {} });
	const tails = [1, 2].map(() => stand.backend.streams.tail(id, 0, { after: "end", waitMs: 30_000 }));
	const before = await scrape(stand);
	const modes = ["durable", "best_effort", "summary"];
	expect(modes.map((mode) => before(`stream_frames_total{mode="${mode}"}`))).toEqual([2, 1, 1]);
	expect(before("stream_tails")).toBe(2);
	await append({ text: "d" });
	await Promise.all(tails);
	expect((await scrape(stand))("stream_tails")).toBe(0);
});

test("metrics tell what became of grants", async () => {
	const stand = await Stand.open();
	const ff = stand.connect();
	await ff.submit("job");
	await ff.submit("job");
	const grant = { workerId: "w", instanceId: "i" };
	const first = await ff.backend.leases.grant({ ...grant, grantTtlMs: 60_000 });
	const accept = () => ff.backend.leases.acceptGrant(first?.grantId ?? "", { instanceId: "i" });
	await accept();
	await accept();
	await ff.backend.leases.grant({ ...grant, grantTtlMs: 1 });
	await vi.waitFor(async () => expect((await scrape(stand))('grants_total{outcome="lapsed"}')).toBe(1), PATIENT);
	const value = await scrape(stand);
	expect(value('grants_total{outcome="reserved"}')).toBe(2);
	expect(value('grants_total{outcome="accepted"}')).toBe(1);
});

test("every figure of a scanner has a metric of its own", async () => {
	const registry = new Registry();
	const row = { name: "due", runs: 1, items: 2, errors: 3, parked: 4, lastDurationMs: 5000, lagMs: 6000 };
	addScannerMetrics(registry, () => [row as ScannerView]);
	const shown = await registry.metrics();
	const figures = ["runs_total", "items_total", "errors_total", "parked", "last_duration_seconds", "lag_seconds"];
	expect(figures.map((figure) => shown.match(`scanner_${figure}{duty="due"} (.*)`)?.[1])).toEqual([..."123456"]);
});

test("metrics of scanners are the rows of the scanners", async () => {
	const stand = await Stand.open();
	const ff = stand.connect();
	const run = await ff.submit("job", 1, { delayMs: 1 });
	await vi.waitFor(async () => expect((await run.get()).publicState).toBe("waiting"), PATIENT);
	const { scanners } = await ff.scanners();
	await scrape(stand);
	const value = await scrape(stand);
	for (const { name, runs, items, errors, lastDurationMs, lagMs } of scanners) {
		const of = (figure: string) => value(`scanner_${figure}{duty="${name}"}`);
		expect([of("runs_total"), of("items_total"), of("errors_total")]).toEqual([runs, items, errors]);
		expect(of("last_duration_seconds")).toBe(lastDurationMs === undefined ? Number.NaN : lastDurationMs / 1000);
		expect(of("lag_seconds")).toBe(lagMs === undefined ? Number.NaN : lagMs / 1000);
	}
	expect(value('scanner_items_total{duty="delayed_promoter"}')).toBe(1);
	expect(value('scanner_parked{duty="due"}')).toBe(0);
});

test("the table of metrics in docs/operations.md is what there is, both ways", async () => {
	const docs = await readFile(new URL("../../docs/operations.md", import.meta.url), "utf8");
	const table = /\| metric \(`flowfabric_…`\).*?\n\n/s.exec(docs)?.[0] ?? "";
	const cells = [...table.matchAll(/^\| (`.*?) \|/gm)].map(([, cell]) => cell ?? "");
	const told = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ""));
	const stand = await Stand.open();
	const { text } = await stand.call("GET", "/metrics");
	const there = [...text.matchAll(/^# TYPE flowfabric_(\S+)/gm)].map(([, name]) => name ?? "");
	const ofProcess = /^(nodejs|process)_/;
	const names = told.filter((name) => !ofProcess.test(name)).map((name) => name.replace(/\{.*\}$/, ""));
	expect(names.sort()).toEqual(there.filter((name) => !ofProcess.test(name)).sort());
});

test("metrics are for loopback; behind a proxy a token that may read is needed, unless they are opened", async () => {
	const tokens = [entry("ada", "viewer"), entry("sam", "submitter")];
	const stand = await Stand.open({ tokens });
	expect((await stand.call("GET", "/metrics")).status).toBe(200);
	const forwarded = { "x-forwarded-for": "203.0.113.9" };
	expect((await stand.call("GET", "/metrics", { headers: forwarded })).status).toBe(401);
	expect((await stand.call("GET", "/metrics", { headers: forwarded, token: tokenOf("sam") })).status).toBe(403);
	expect((await stand.call("GET", "/metrics", { headers: forwarded, token: tokenOf("ada") })).status).toBe(200);
	for (const headers of [{ via: "1.1 proxy" }, { "x-real-ip": "203.0.113.9" }, { "x-forwarded-host": "ff.example" }])
		expect((await stand.call("GET", "/metrics", { headers })).status).toBe(401);
	const { socket, heard, closed } = stand.socket();
	socket.write("GET /metrics HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n");
	await closed;
	expect(heard()).toMatch(/^HTTP\/1.1 401 /);
	const open = await Stand.open({ tokens, openMetrics: true });
	expect((await open.call("GET", "/metrics", { headers: forwarded })).status).toBe(200);
});

test("a token that is bound to a namespace is told of nothing else", async () => {
	const tokens = [entry("all", "admin"), entry("ada", "operator", "a")];
	const stand = await Stand.open({ tokens });
	for (const namespace of ["a", "b"]) {
		const body = { kind: "job", namespace, lane: `lane-of-${namespace}` };
		await stand.call("POST", "/v1/executions", { token: tokenOf("all"), body });
	}
	const { status, text } = await stand.call("GET", "/metrics", { token: tokenOf("ada") });
	expect(status).toBe(200);
	expect(text).toContain('flowfabric_queue_depth{namespace="a",lane="lane-of-a",state="waiting"} 1');
	expect(text).not.toMatch(/lane-of-b|namespace="b"|commands_total|process_/);
	expect((await stand.call("GET", "/metrics", { token: tokenOf("all") })).text).toContain("lane-of-b");
	const scanners = await stand.call("GET", "/v1/admin/scanners", { token: tokenOf("ada") });
	expect(scanners).toMatchObject({ status: 403, json: { error: { code: "forbidden" } } });
});

test("lanes of another tenant, however many and full, leave a tenant its own figures", async () => {
	const tokens = [entry("ada", "operator", "a"), entry("bob", "submitter", "b")];
	const stand = await Stand.open({ tokens });
	await stand.call("POST", "/v1/executions", { token: tokenOf("ada"), body: { kind: "job", lane: "mine" } });
	await stand.call("POST", "/v1/lanes/closed/pause", { token: tokenOf("ada") });
	const items = Array.from({ length: 402 }, (_, n) => ({ kind: "job", lane: `lane-${n % 201}` }));
	await stand.call("POST", "/v1/executions/batch", { token: tokenOf("bob"), body: { items } });
	const { text } = await stand.call("GET", "/metrics", { token: tokenOf("ada") });
	expect(text).toContain('flowfabric_queue_depth{namespace="a",lane="mine",state="waiting"} 1');
	expect(text).toContain('flowfabric_queue_oldest_seconds{namespace="a",lane="mine",state="waiting"}');
	expect(text).toContain('flowfabric_lane_closed{namespace="a",lane="closed",state="paused"} 1');
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
