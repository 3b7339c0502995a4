import { expect, test } from "vitest";
import { ACCESS, OPEN, ROLES, type RouteName } from "../../src/server/access.ts";
import { entry, Stand, tokenOf } from "./stand.ts";

/** What the specification lets each role do, written down a second time. access-matrix.test.ts calls every route. */
const reads = [
	"GET /v1/executions",
	"GET /v1/executions/:id",
	"GET /v1/executions/:id/input",
	"GET /v1/executions/:id/result",
	"GET /v1/executions/:id/wait",
	"GET /v1/executions/:id/events",
	"GET /v1/executions/:id/attempts",
	"GET /v1/executions/:id/steps",
	"GET /v1/executions/:id/explain",
	"GET /v1/executions/:id/attempts/:n/stream",
	"GET /v1/executions/:id/attempts/:n/stream/tail",
	"GET /v1/executions/:id/attempts/:n/summary",
	"GET /v1/waitpoints",
	"GET /v1/executions/:id/waitpoints",
	"GET /v1/workers",
	"GET /v1/lanes",
	"GET /v1/budgets",
	"GET /v1/budgets/:id",
	"GET /v1/budgets/:id/ledger",
	"GET /v1/quotas",
	"GET /v1/quotas/:id",
	"GET /v1/events",
	"GET /v1/flows",
	"GET /v1/flows/:id",
	"GET /v1/flows/:id/wait",
	"GET /v1/flows/:id/events",
];
const submits = [
	"POST /v1/executions",
	"POST /v1/executions/batch",
	"POST /v1/flows",
	"POST /v1/flows/:id/members",
	"POST /v1/flows/:id/edges",
	"PUT /v1/flows/:id/groups/:node",
	"POST /v1/flows/:id/seal",
	"POST /v1/flows/:id/cancel",
	"DELETE /v1/flows/:id",
];
const cancels = ["POST /v1/executions/:id/cancel"];
const operates = [
	"POST /v1/executions/:id/replay",
	"POST /v1/executions/:id/priority",
	"POST /v1/executions/:id/tags",
	"POST /v1/executions/:id/revoke-lease",
	"POST /v1/executions/:id/resume",
	"POST /v1/executions/:id/approve",
	"GET /v1/executions/:id/waitpoints/:wp/token",
	"POST /v1/executions/bulk",
	"DELETE /v1/executions/:id",
	"PATCH /v1/lanes/:lane",
	"POST /v1/lanes/:lane/pause",
	"POST /v1/lanes/:lane/resume",
	"POST /v1/lanes/:lane/drain",
	"POST /v1/budgets",
	"PATCH /v1/budgets/:id",
	"DELETE /v1/budgets/:id",
	"POST /v1/budgets/:id/usage",
	"POST /v1/budgets/:id/reset",
	"POST /v1/budgets/:id/release",
	"POST /v1/quotas",
	"PATCH /v1/quotas/:id",
	"DELETE /v1/quotas/:id",
	"GET /v1/admin/scanners",
];
/** What signals carry is neither for those who only look nor for those who only submit. */
const readsSignals = ["GET /v1/executions/:id/signals"];
const removesWorkers = ["DELETE /v1/workers/:instanceId"];
const administers = ["POST /v1/admin/backup", "POST /v1/admin/rotate-waitpoint-secret"];
const works = [
	"POST /v1/claims",
	"POST /v1/grants",
	"POST /v1/grants/:id/accept",
	"POST /v1/leases/renew",
	"POST /v1/leases/complete",
	"POST /v1/executions/:id/complete",
	"POST /v1/executions/:id/fail",
	"POST /v1/executions/:id/delay",
	"POST /v1/executions/:id/release",
	"POST /v1/executions/:id/progress",
	"POST /v1/executions/:id/steps",
	"POST /v1/executions/:id/children",
	"POST /v1/executions/:id/wait-children",
	"POST /v1/executions/:id/frames",
	"POST /v1/executions/:id/usage",
	"POST /v1/executions/:id/suspend",
	"POST /v1/executions/:id/waitpoints",
	"GET /v1/workers/:instanceId/notices",
	"PUT /v1/workers/:instanceId",
];
const may: Record<(typeof ROLES)[number], string[]> = {
	viewer: reads,
	submitter: [...reads, ...submits, ...cancels],
	worker: [...reads, ...works, ...cancels, ...readsSignals, ...removesWorkers],
	operator: [...reads, ...submits, ...cancels, ...operates, ...readsSignals, ...removesWorkers],
	admin: [...reads, ...submits, ...cancels, ...operates, ...works, ...readsSignals, ...removesWorkers, ...administers],
};

const guarded = (Object.keys(ACCESS) as RouteName[]).filter((name) => ACCESS[name] !== OPEN);

test("every guarded route is in somebody's list, and every listed route exists", () => {
	expect(guarded.toSorted()).toEqual(may.admin.toSorted());
});

test.each(ROLES)("the table lets a %s do what the specification says, and nothing else", (role) => {
	const allowed = guarded.filter((name) => (ACCESS[name] as readonly string[]).includes(role));
	expect(allowed.toSorted()).toEqual(may[role].toSorted());
});

test("a refusal for want of a token says how to give one, and says nothing of tokens", async () => {
	const stand = await Stand.open({ tokens: [entry("ada", "viewer")] });
	const none = await stand.call("GET", "/v1/executions");
	expect(none).toMatchObject({ status: 401, json: { error: { code: "unauthorized", retryable: false } } });
	expect(none.headers.get("www-authenticate")).toContain("Bearer");
	for (const authorization of [tokenOf("ada"), `Basic ${tokenOf("ada")}`, "Bearer", `Bearer ${tokenOf("ada")} x`]) {
		expect((await stand.call("GET", "/v1/executions", { headers: { authorization } })).status).toBe(401);
	}
	const denied = await stand.call("POST", "/v1/executions", { body: { kind: "a" }, token: tokenOf("ada") });
	expect(denied).toMatchObject({ status: 403, json: { error: { code: "forbidden", details: { role: "viewer" } } } });
	expect(JSON.stringify(stand.log)).not.toContain(tokenOf("ada"));
});

test("the body of whoever may not call is not even read", async () => {
	const stand = await Stand.open({ tokens: [entry("ada", "viewer")] });
	const { status } = await stand.call("POST", "/v1/executions", { body: " ".repeat(2 * 1024 * 1024) });
	expect(status).toBe(401);
});

test("a worker cancels with a fence only", async () => {
	const stand = await Stand.open({ tokens: [entry("w", "worker")] });
	const { id, fence } = await stand.held();
	const token = tokenOf("w");
	expect(await stand.call("POST", `/v1/executions/${id}/cancel`, { token })).toMatchObject({
		status: 403,
		json: { error: { code: "forbidden" } },
	});
	expect((await stand.call("POST", `/v1/executions/${id}/cancel`, { token, body: { fence } })).status).toBe(200);
});

test.each(["submitter", "operator"] as const)(
	"a %s who has read a fence does not pass for its holder",
	async (role) => {
		const stand = await Stand.open({ tokens: [entry("sam", role)] });
		const { id, fence } = await stand.held();
		const token = tokenOf("sam");
		expect(await stand.call("POST", `/v1/executions/${id}/cancel`, { token, body: { fence } })).toMatchObject({
			status: 403,
			json: { error: { code: "forbidden" } },
		});
		await stand.call("POST", `/v1/executions/${id}/cancel`, { token, body: { mode: "force" } });
		expect((await stand.backend.executions.get(id)).cancel).toMatchObject({ source: "operator" });
	},
);

test.each(ROLES)(
	"what a %s sees of steps does not tell what signals brought, unless it may read signals",
	async (role) => {
		const stand = await Stand.open({ tokens: [entry("sam", role)] });
		const { id, fence } = await stand.held();
		const result = { signals: [{ payload: "card 4111" }] };
		await stand.backend.leases.recordStep(id, { fence, name: "wait", index: 0, result, startedAt: 1 });
		const token = tokenOf("sam");
		const [signals, steps, values] = await Promise.all(
			["signals", "steps", "steps?values=true"].map((what) =>
				stand.call("GET", `/v1/executions/${id}/${what}`, { token }),
			),
		);
		expect(steps).toMatchObject({ status: 200, json: { steps: [{ name: "wait" }] } });
		expect(steps?.text).not.toContain("4111");
		expect(values?.status).toBe(signals?.status);
		expect(values?.text.includes("4111")).toBe(signals?.status === 200);
	},
);

test("events name the token as their actor", async () => {
	const stand = await Stand.open({ tokens: [entry("root", "admin")] });
	const made = await stand.call("POST", "/v1/executions", {
		body: { kind: "job", namespace: "b" },
		token: tokenOf("root"),
	});
	const { id } = made.json;
	expect((await stand.backend.executions.events(id)).events[0]).toMatchObject({ type: "created", actor: "root" });
});

test("events of a flow name the token too, whoever it says it was created by, however large it is", async () => {
	const stand = await Stand.open({ tokens: [entry("sam", "submitter")] });
	for (const count of [1, 200]) {
		const nodes = Array.from({ length: count }, (_, n) => ({
			key: `n${n}`,
			kind: "k",
			idempotencyKey: `${count}-${n}`,
		}));
		const body = { createdBy: "lease_expiry", nodes };
		const { json } = await stand.call("POST", "/v1/flows", { token: tokenOf("sam"), body });
		const { events } = await stand.backend.flows.events(json.id, { limit: 1000 });
		expect(events.filter(({ type }) => type === "created")).toHaveLength(count);
		expect(new Set(events.map(({ actor }) => actor))).toEqual(new Set(["sam"]));
		expect((await stand.backend.flows.get(json.id)).createdBy).toBe("lease_expiry");
	}
});

test("one admin token may do everything", async () => {
	const stand = await Stand.open({ adminToken: "a-long-admin-token" });
	expect((await stand.call("GET", "/v1/executions")).status).toBe(401);
	const { json } = await stand.call("POST", "/v1/executions", { body: { kind: "a" }, token: "a-long-admin-token" });
	expect((await stand.backend.executions.get(json.id)).createdBy).toBe("admin");
});

test("without a token it listens on loopback only, and says why it will not start elsewhere", async () => {
	for (const host of ["0.0.0.0", "::", "192.0.2.1"]) {
		await expect(Stand.open({ host })).rejects.toMatchObject({ details: { field: "host" }, message: /token/ });
	}
	for (const host of ["127.0.0.1", "localhost"]) expect((await Stand.open({ host })).server.address).toMatch(/^http:/);
	const open = await Stand.open({ host: "0.0.0.0", adminToken: "a-long-admin-token" });
	expect(open.server.port).toBeGreaterThan(0);
});

test("bad settings stop the start by their name", async () => {
	const bad: [options: Parameters<typeof Stand.open>[0], field: string][] = [
		[{ port: 70_000 }, "port"],
		[{ graceMs: -1 }, "graceMs"],
		[{ pools: { claims: 0 } }, "pools.claims"],
		[{ adminToken: "short" }, "adminToken"],
		[{ tokens: [{ ...entry("a", "viewer"), hash: "abc" }] }, "tokens[0].hash"],
		[{ tokens: [entry("a", "viewer"), { ...entry("b", "viewer"), role: "root" as never }] }, "tokens[1].role"],
		[{ tokens: [entry("a", "viewer", "a b")] }, "tokens[0].namespace"],
		[{ tokens: [entry("a", "viewer"), entry("a", "admin")] }, "tokens"],
		[{ tokens: [entry("ops", "viewer"), entry("Ops\u200b ", "admin")] }, "tokens"],
		[
			{ tokens: [entry("a", "viewer"), { ...entry("b", "admin"), hash: entry("a", "viewer").hash.toUpperCase() }] },
			"tokens",
		],
		[{ host: "no.such.host.invalid." }, "host"],
	];
	for (const [options, field] of bad) {
		await expect(Stand.open(options)).rejects.toMatchObject({ code: "invalid_input", details: { field } });
	}
	const { server } = await Stand.open();
	await expect(Stand.open({ port: server.port })).rejects.toMatchObject({ details: { field: "port" } });
});

test("a worker cannot act under the name of somebody else who acts in its namespace", async () => {
	const tokens = [
		entry("root", "admin"),
		entry("wanda", "worker", "a"),
		entry("ann", "operator", "a"),
		entry("eve", "operator", "b"),
	];
	const stand = await Stand.open({ tokens });
	const token = tokenOf("wanda");
	const claimAs = (instanceId: string) =>
		stand.call("POST", "/v1/claims", {
			token,
			body: { workerId: "w", instanceId, capabilities: [], lanes: ["default"] },
		});
	const ours = ["lease_expiry", "unblock", "index_reconciler", "callback wp_1", "signal wp_1"];
	for (const name of ["root", "ann", "Ann", "ann ", "a\u200bnn", "ａｎｎ", ...ours]) {
		expect(await claimAs(name)).toMatchObject({ status: 400, json: { error: { details: { field: "instanceId" } } } });
		const body = { workerId: "w", capabilities: [], lanes: ["default"] };
		expect((await stand.call("PUT", `/v1/workers/${encodeURIComponent(name)}`, { token, body })).status).toBe(400);
		const request = { workerId: "w", instanceId: name, capabilities: [], lanes: ["default"], grantTtlMs: 1000 };
		expect((await stand.call("POST", "/v1/grants", { token, body: request })).status).toBe(400);
	}
	// Its own name is its own, and whether another tenant has a token of some name it does not learn.
	for (const name of ["wanda", "eve", "worker-7"]) expect((await claimAs(name)).status).toBe(200);
});

test("a worker that is bound to no namespace acts under the name of no tenant's token", async () => {
	const stand = await Stand.open({ tokens: [entry("roamer", "worker"), entry("ann", "operator", "a")] });
	const claimAs = (instanceId: string) =>
		stand.call("POST", "/v1/claims", {
			token: tokenOf("roamer"),
			body: { workerId: "w", instanceId, namespace: "a", lanes: ["default"] },
		});
	expect((await claimAs("ann")).status).toBe(400);
	expect((await claimAs("roamer")).status).toBe(200);
});
