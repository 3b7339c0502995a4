import { expect, test } from "vitest";
import { ACCESS, isAudited, type RouteName } from "../../src/server/access.ts";
import { entry, Stand, tokenOf } from "./stand.ts";

const token = tokenOf("olga");

async function standOf(namespace?: string): Promise<Stand> {
	return Stand.open({ tokens: [entry("olga", "operator", namespace), entry("ada", "admin")] });
}

/** What the lines say, without what every line of a log has. */
const lines = (stand: Stand) =>
	stand.log
		.filter(({ audit }) => audit)
		.map(({ level: _, time: _t, pid: _p, hostname: _h, audit: _a, msg: _m, requestId, ...line }) => {
			expect(requestId).toEqual(expect.any(String));
			return line;
		});

test("an action on an execution names it, and how it went", async () => {
	const stand = await standOf();
	const { id } = await stand.held();
	await stand.call("POST", `/v1/executions/${id}/replay`, { token });
	await stand.call("POST", `/v1/executions/${id}/revoke-lease`, { token, body: { reason: "stuck" } });
	await stand.call("POST", `/v1/executions/${id}/priority`, { token, body: { priority: 3 } });
	await stand.call("POST", `/v1/executions/${id}/tags`, { token, body: { set: { team: "a" } } });
	await stand.call("POST", `/v1/executions/${id}/cancel`, { token });
	await stand.call("DELETE", `/v1/executions/${id}`, { token });
	const line = (what: string, outcome = "ok") => ({ who: "olga", what, target: id, outcome });
	expect(lines(stand)).toEqual([
		line("replay", "execution_not_terminal"),
		line("revoke-lease"),
		line("priority"),
		line("tags"),
		line("cancel"),
		line("delete"),
	]);
});

test("an approval and a resume name the execution, and what came of it, but not what was said", async () => {
	const stand = await standOf();
	const { id, fence } = await stand.held();
	const condition = { allOf: [{ signal: "approve" }, { signal: "other" }] };
	const reason = "waiting_for_approval";
	await stand.backend.leases.suspend(id, { fence, reason, condition, waitpoints: [{ key: "w" }] });
	const payload = { secret: "s3cret" };
	await stand.call("POST", `/v1/executions/${id}/approve`, { token, body: { name: "approve", payload } });
	await stand.call("POST", `/v1/executions/${id}/approve`, { token, body: { name: "approve", waitpoint: "nowhere" } });
	await stand.call("POST", `/v1/executions/${id}/resume`, { token });
	await stand.call("POST", `/v1/executions/${id}/resume`, { token });
	const line = (what: string, outcome: string, more: object = {}) => ({
		who: "olga",
		what,
		target: id,
		outcome,
		...more,
	});
	expect(lines(stand)).toEqual([
		line("approve", "ok", { effect: "appended" }),
		line("approve", "waitpoint_not_found"),
		line("resume", "ok"),
		line("resume", "execution_not_suspended"),
	]);
	expect(JSON.stringify(stand.log)).not.toContain("s3cret");
});

test("who changes a flow that is open is written down, and what they did to it, but not who makes one", async () => {
	const stand = await Stand.open({ tokens: [entry("ann", "submitter"), entry("bee", "submitter")] });
	const graph = { nodes: [{ key: "a", kind: "job" }], sealed: false };
	const { id } = (await stand.call("POST", "/v1/flows", { token: tokenOf("ann"), body: graph })).json;
	const bee = tokenOf("bee");
	const member = { key: "b", kind: "job", input: "s3cret" };
	const { json } = await stand.call("POST", `/v1/flows/${id}/members`, { token: bee, body: member });
	await stand.call("POST", `/v1/flows/${id}/members`, { token: bee, body: member });
	const edge = { from: "a", to: "b", expectedRevision: json.revision };
	await stand.call("POST", `/v1/flows/${id}/edges`, { token: bee, body: edge });
	await stand.call("PUT", `/v1/flows/${id}/groups/b`, { token: bee, body: null });
	await stand.call("POST", `/v1/flows/${id}/seal`, { token: bee });
	await stand.call("POST", `/v1/flows/${id}/members`, { token: bee, body: { key: "c", kind: "x".repeat(2000) } });
	await stand.call("POST", `/v1/flows/${id}/edges`, { token: bee, body: [] });
	const line = (what: string, outcome: string, more: object = {}) => ({
		...{ who: "bee", what, target: id, outcome, ...more },
	});
	expect(lines(stand)).toEqual([
		line("flow-member", "ok", { key: "b", kind: "job", created: true }),
		line("flow-member", "ok", { key: "b", kind: "job", created: false }),
		line("flow-edge", "ok", { from: "a", to: "b", created: true }),
		line("flow-group", "invalid_input", { node: "b" }),
		line("flow-seal", "ok"),
		line("flow-member", "invalid_input", { key: "c", kind: "x".repeat(256) }),
		line("flow-edge", "invalid_input"),
	]);
	expect(JSON.stringify(stand.log)).not.toContain("s3cret");
});

test("an action on a lane names the lane and its namespace", async () => {
	const stand = await standOf();
	await stand.call("POST", "/v1/lanes/media/pause?namespace=a", { token });
	await stand.call("POST", "/v1/lanes/media/resume", { token });
	await stand.call("POST", "/v1/lanes/media/drain?namespace=a&nonsense=1", { token });
	await stand.call("PATCH", "/v1/lanes/media", { token, body: { agingMs: 5000 } });
	const line = (what: string, namespace: string, outcome = "ok") => ({
		...{ who: "olga", what, target: "media", namespace, outcome },
	});
	expect(lines(stand)).toEqual([
		line("lane-pause", "a"),
		line("lane-resume", "default"),
		line("lane-drain", "a", "invalid_input"),
		line("lane-settings", "default"),
	]);
});

test("an action on a budget or a quota names it, its namespace, and what came of it", async () => {
	const stand = await standOf();
	const budget = { id: "team", namespace: "a", dimensions: { tokens: { hard: 5 } } };
	const at = "/v1/budgets/team";
	await stand.call("POST", "/v1/budgets", { token, body: budget });
	await stand.call("POST", "/v1/budgets", { token, body: budget });
	await stand.call("PATCH", `${at}?namespace=a`, { token, body: { onHard: "fail" } });
	await stand.call("POST", `${at}/usage?namespace=a`, { token, body: { dims: { tokens: 6 } } });
	await stand.call("POST", `${at}/usage`, { token, body: { dims: { tokens: 6 } } });
	await stand.call("POST", `${at}/reset?namespace=a`, { token });
	await stand.call("POST", `${at}/release?namespace=a`, { token, body: { executionId: `ex_${"0".repeat(32)}_0` } });
	await stand.call("DELETE", `${at}?namespace=a`, { token });
	await stand.call("POST", "/v1/quotas", { token, body: { id: "team", concurrency: 1 } });
	await stand.call("PATCH", "/v1/quotas/team", { token, body: { concurrency: null } });
	await stand.call("DELETE", "/v1/quotas/team", { token });
	const line = (what: string, namespace: string, more: object = {}) => ({
		...{ who: "olga", what, target: "team", namespace, outcome: "ok", ...more },
	});
	expect(lines(stand)).toEqual([
		line("budget-create", "a", { created: true }),
		line("budget-create", "a", { created: false }),
		line("budget-patch", "a"),
		line("budget-usage", "a", { result: "hard_breach" }),
		line("budget-usage", "default", { outcome: "budget_not_found" }),
		line("budget-reset", "a"),
		line("budget-release", "a", { released: {} }),
		line("budget-delete", "a"),
		line("quota-create", "default", { created: true }),
		line("quota-patch", "default", { outcome: "quota_without_limit" }),
		line("quota-delete", "default"),
	]);
});

test("where none is given, the namespace is that of the token", async () => {
	const stand = await standOf("team");
	await stand.call("POST", "/v1/lanes/media/pause", { token });
	await stand.call("POST", "/v1/lanes/media/pause?namespace=other", { token });
	expect(lines(stand)).toMatchObject([
		{ namespace: "team", outcome: "ok" },
		{ namespace: "other", outcome: "forbidden" },
	]);
});

test("removing a worker names the instance, and whether it was there", async () => {
	const stand = await standOf();
	const worker = { workerId: "w", capabilities: [], lanes: ["default"], namespace: "a" };
	await stand.backend.workers.register("w-1", worker);
	await stand.call("DELETE", "/v1/workers/w-1?namespace=a", { token });
	await stand.call("DELETE", "/v1/workers/w-1", { token });
	const line = { who: "olga", what: "worker-remove", target: "w-1", outcome: "ok" };
	expect(lines(stand)).toEqual([
		{ ...line, namespace: "a", removed: true },
		{ ...line, namespace: "default", removed: false },
	]);
});

test("a bulk action names the filter, the action and how many it was done to", async () => {
	const stand = await standOf();
	for (let n = 0; n < 3; n++) await stand.backend.executions.create({ kind: "job", namespace: "a" });
	const filter = { namespace: "a", kind: "job", state: "waiting" };
	await stand.call("POST", "/v1/executions/bulk", { token, body: { filter, action: "replay" } });
	await stand.call("POST", "/v1/executions/bulk", { token, body: { filter, action: "cancel", reason: "enough" } });
	const line = { who: "olga", what: "bulk", target: "executions", namespace: "a", outcome: "ok", isLast: true };
	const meant = { filter: { kind: "job", state: "waiting" } };
	expect(lines(stand)).toEqual([
		{ ...line, ...meant, action: "replay", done: 0, failed: 3 },
		{ ...line, ...meant, action: "cancel", done: 3, failed: 0 },
	]);
});

test("a bulk action that was refused leaves a line, whatever its body was", async () => {
	const stand = await standOf();
	const long = "x".repeat(20_000);
	for (const body of [null, [], { filter: 7, action: {} }, { filter: { kind: long, evil: long }, action: long }])
		await stand.call("POST", "/v1/executions/bulk", { token, body });
	expect(lines(stand).map(({ target, outcome }) => [target, outcome])).toEqual(
		Array.from({ length: 4 }, () => ["executions", "invalid_input"]),
	);
	expect(JSON.stringify(stand.log).length).toBeLessThan(10_000);
});

test("a backup is audited, and reading is not", async () => {
	const stand = await standOf();
	await stand.call("POST", "/v1/admin/backup", { token: tokenOf("ada") });
	await stand.call("POST", "/v1/admin/backup", { token: tokenOf("ada"), body: { keys: true } });
	await stand.call("GET", "/v1/admin/scanners", { token });
	const line = { who: "ada", what: "backup", target: "store", outcome: "ok" };
	expect(lines(stand)).toEqual([
		{ ...line, keys: false },
		{ ...line, keys: true },
	]);
});

test("a rotation of keys names both, and no line of the log holds a secret", async () => {
	const stand = await standOf();
	const secretHex = "5ec2e7".repeat(11).slice(0, 64);
	const rotate = (body: object, as = "ada") =>
		stand.call("POST", "/v1/admin/rotate-waitpoint-secret", { token: tokenOf(as), body });
	await rotate({ kid: "july", secretHex });
	await rotate({ kid: "july", secretHex: secretHex.replaceAll("5", "6") });
	await rotate({ secretHex: "abcdef" });
	await rotate({ secretHex }, "olga");
	const line = { who: "ada", what: "rotate", target: "keyring" };
	expect(lines(stand)).toEqual([
		{ ...line, kid: "july", previousKid: "k1", outcome: "ok" },
		{ ...line, outcome: "rotation_conflict" },
		{ ...line, outcome: "invalid_input" },
	]);
	expect(JSON.stringify(stand.log)).not.toMatch(/5ec2e7|6ec2e7|abcdef/);
});

test("every route that changes what others submitted is audited, and no other", () => {
	const audited = (Object.keys(ACCESS) as RouteName[]).filter(isAudited);
	expect(audited.sort()).toEqual([
		"DELETE /v1/budgets/:id",
		"DELETE /v1/executions/:id",
		"DELETE /v1/flows/:id",
		"DELETE /v1/quotas/:id",
		"DELETE /v1/workers/:instanceId",
		"PATCH /v1/budgets/:id",
		"PATCH /v1/lanes/:lane",
		"PATCH /v1/quotas/:id",
		"POST /v1/admin/backup",
		"POST /v1/admin/rotate-waitpoint-secret",
		"POST /v1/budgets",
		"POST /v1/budgets/:id/release",
		"POST /v1/budgets/:id/reset",
		"POST /v1/budgets/:id/usage",
		"POST /v1/executions/:id/approve",
		"POST /v1/executions/:id/cancel",
		"POST /v1/executions/:id/priority",
		"POST /v1/executions/:id/replay",
		"POST /v1/executions/:id/resume",
		"POST /v1/executions/:id/revoke-lease",
		"POST /v1/executions/:id/tags",
		"POST /v1/executions/bulk",
		"POST /v1/flows/:id/cancel",
		"POST /v1/flows/:id/edges",
		"POST /v1/flows/:id/members",
		"POST /v1/flows/:id/seal",
		"POST /v1/lanes/:lane/drain",
		"POST /v1/lanes/:lane/pause",
		"POST /v1/lanes/:lane/resume",
		"POST /v1/quotas",
		"PUT /v1/flows/:id/groups/:node",
	]);
});
