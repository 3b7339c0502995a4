import { expect, test } from "vitest";
import type { FlowCalls } from "../../src/contract/backend.ts";
import { entry, Stand, tokenOf, until } from "./stand.ts";

const chain = {
	kind: "release",
	nodes: [
		{ key: "build", kind: "job" },
		{ key: "test", kind: "job" },
	],
	edges: [{ from: "build", to: "test", passResultAs: "build" }],
};

/** Ends whatever can be claimed, one by one, until nothing can. */
async function workOff({ backend }: Stand): Promise<unknown[]> {
	const parents: unknown[] = [];
	for (;;) {
		const [claimed] = await backend.leases.claim({ workerId: "w", instanceId: "w-1" });
		if (!claimed) return parents;
		parents.push(claimed.parents);
		const fence = { leaseId: claimed.lease.id, epoch: claimed.lease.epoch };
		await backend.leases.complete(claimed.id, { fence, result: { of: claimed.id } });
	}
}

test("a flow is made, read, listed, waited for and deleted", async () => {
	const stand = await Stand.open();
	const made = await stand.call("POST", "/v1/flows", { body: { ...chain, idempotencyKey: "r-1" } });
	expect(made).toMatchObject({ status: 201, json: { created: true } });
	const { id, nodes } = made.json;
	expect(Object.keys(nodes)).toEqual(["build", "test"]);
	const again = await stand.call("POST", "/v1/flows", { body: { ...chain, idempotencyKey: "r-1" } });
	expect(again).toMatchObject({ status: 200, json: { id, nodes, created: false } });
	const read = await stand.call("GET", `/v1/flows/${id}`);
	expect(read).toMatchObject({
		status: 200,
		json: {
			id,
			kind: "release",
			state: "open",
			counts: { waiting: 1, waiting_children: 1 },
			edges: [{ from: "build" }],
		},
	});
	const { json: listed } = await stand.call("GET", "/v1/flows?kind=release&limit=1");
	expect(listed.flows).toMatchObject([{ id, nodeCount: 2, edgeCount: 1 }]);
	expect(listed.flows[0].nodes).toBeUndefined();
	const members = await stand.call("GET", `/v1/executions?flowId=${id}`);
	expect(members.json.executions.map((it: { id: string }) => it.id).sort()).toEqual(Object.values(nodes).sort());
	expect((await stand.call("DELETE", `/v1/flows/${id}`)).json.error.code).toBe("flow_not_terminal");
	const waiting = stand.call("GET", `/v1/flows/${id}/wait?timeoutMs=30000`);
	const [, parents] = await workOff(stand);
	expect(parents).toEqual({
		build: {
			executionId: nodes.build,
			publicState: "completed",
			result: { of: nodes.build },
			size: expect.any(Number),
			contentType: "application/json",
		},
	});
	expect(await waiting).toMatchObject({ status: 200, json: { id, state: "completed", counts: { completed: 2 } } });
	expect(await stand.call("DELETE", `/v1/flows/${id}`)).toMatchObject({ status: 200, json: { deleted: true } });
	expect(await stand.call("GET", `/v1/flows/${id}`)).toMatchObject({
		status: 404,
		json: { error: { code: "flow_not_found" } },
	});
});

test("built step by step: 201 for what is new, 200 for the same again, a refusal by name for what comes too late", async () => {
	const stand = await Stand.open();
	const { json: flow } = await stand.call("POST", "/v1/flows", { body: { nodes: [], sealed: false } });
	const at = `/v1/flows/${flow.id}`;
	const post = (path: string, body?: unknown) => stand.call("POST", at + path, { body });
	for (const key of ["a", "näch/ste"]) {
		expect(await post("/members", { key, kind: "job" })).toMatchObject({ status: 201, json: { created: true } });
		expect(await post("/members", { key, kind: "job" })).toMatchObject({ status: 200, json: { created: false } });
	}
	const { revision } = (await stand.call("GET", at)).json;
	const edge = { from: "a", to: "näch/ste", expectedRevision: revision };
	const stale = { status: 409, json: { error: { code: "stale_graph_revision" } } };
	expect(await post("/edges", { ...edge, expectedRevision: revision - 1 })).toMatchObject(stale);
	const added = await post("/edges", edge);
	expect(added).toMatchObject({ status: 201, json: { created: true, revision: revision + 1 } });
	expect(await post("/edges", edge)).toMatchObject({ status: 200, json: { edgeId: added.json.edgeId } });
	const group = { policy: { quorum: 1 }, onSatisfied: "cancel_remaining" };
	const grouped = await stand.call("PUT", `${at}/groups/${encodeURIComponent("näch/ste")}`, { body: group });
	expect(grouped).toMatchObject({ status: 200, json: { revision: revision + 2 } });
	expect(await stand.call("PUT", `${at}/groups/x`, { body: group })).toMatchObject({
		json: { error: { code: "unknown_node" } },
	});
	expect(await post("/seal")).toMatchObject({ status: 200, json: { revision: revision + 3 } });
	expect(await post("/seal")).toMatchObject({ status: 200, json: { revision: revision + 3 } });
	expect(await post("/members", { key: "c", kind: "job" })).toMatchObject({
		status: 409,
		json: { error: { code: "flow_sealed" } },
	});
	await workOff(stand);
	expect((await stand.call("GET", `${at}/wait?timeoutMs=30000`)).json.state).toBe("completed");
});

test("a cancel is 202 when it was scheduled and 200 when it is known what came of it, and leaves a line in the log", async () => {
	const stand = await Stand.open({ tokens: [entry("sue", "submitter"), entry("ole", "operator")] });
	const token = tokenOf("sue");
	const cancelOf = async (query: string) => {
		const { id } = (await stand.call("POST", "/v1/flows", { token, body: chain })).json;
		const body = { policy: "cancel_all", reason: "enough" };
		return { id, body, first: await stand.call("POST", `/v1/flows/${id}/cancel${query}`, { token, body }) };
	};
	const { id, body, first } = await cancelOf("");
	expect(first).toMatchObject({ status: 202, json: { status: "scheduled", policy: "cancel_all", memberCount: 2 } });
	expect(first.json.memberIds).toHaveLength(2);
	await stand.call("GET", `/v1/flows/${id}/wait`, { token });
	const late = await stand.call("POST", `/v1/flows/${id}/cancel`, { token, body: { policy: "flow_only" } });
	expect(late).toMatchObject({ status: 200, json: { state: "cancelled", policy: "cancel_all", reason: "enough" } });
	const awaited = await cancelOf("?wait=true");
	expect(awaited.first).toMatchObject({ status: 200, json: { status: "cancelled", state: "cancelled" } });
	expect(await stand.call("POST", `/v1/flows/${id}/cancel?wait=maybe`, { token, body })).toMatchObject({
		status: 400,
		json: { error: { details: { field: "wait" } } },
	});
	await stand.call("DELETE", `/v1/flows/${id}`, { token: tokenOf("ole") });
	const lines = stand.log
		.filter(({ audit }) => audit)
		.map(({ who, what, target, outcome }) => [who, what, target, outcome]);
	expect(lines).toEqual([
		["sue", "flow-cancel", id, "ok"],
		["sue", "flow-cancel", id, "ok"],
		["sue", "flow-cancel", awaited.id, "ok"],
		["sue", "flow-cancel", id, "invalid_input"],
		["ole", "flow-delete", id, "ok"],
	]);
});

test("what is wrong with a flow is said by the field it stands in, and nothing of it is made", async () => {
	const stand = await Stand.open();
	const a = { key: "a", kind: "job" };
	const b = { key: "b", kind: "job" };
	const cases: [body: unknown, code: string, field?: string][] = [
		[{}, "invalid_input", "nodes"],
		[{ nodes: [a], more: 1 }, "invalid_input", "more"],
		[{ nodes: [a, { key: "b" }] }, "invalid_input", "nodes[1].kind"],
		[{ nodes: [{ kind: "job" }] }, "invalid_input", "nodes[0].key"],
		[{ nodes: [{ ...a, namespace: "other" }] }, "invalid_input", "nodes[0].namespace"],
		[{ nodes: [a, b], edges: [{ from: "a", to: "b", on: "never" }] }, "invalid_input", "edges[0].on"],
		[{ nodes: [a], groups: [{ node: "a", policy: "none" }] }, "invalid_input", "groups[0].policy"],
		[{ nodes: [a, b], edges: [{ from: "a", to: "c" }] }, "unknown_node", "edges[0].to"],
		[{ nodes: [a], edges: [{ from: "a", to: "a" }] }, "self_edge", "edges[0]"],
		[{ nodes: [a, a] }, "duplicate_node", "nodes[1].key"],
		[
			{
				nodes: [a, b],
				edges: [
					{ from: "a", to: "b" },
					{ from: "b", to: "a" },
				],
			},
			"cycle_detected",
		],
		[{ nodes: [a], groups: [{ node: "a", policy: { quorum: 2 } }] }, "quorum_unreachable"],
		[{ nodes: Array.from({ length: 10_001 }, (_, n) => ({ key: `n${n}`, kind: "job" })) }, "too_many_nodes", "nodes"],
	];
	for (const [body, code, field] of cases) {
		const { status, json } = await stand.call("POST", "/v1/flows", { body });
		expect(json.error.code, JSON.stringify(body).slice(0, 100)).toBe(code);
		expect([400, 409]).toContain(status);
		if (field !== undefined) expect(json.error.details.field).toBe(field);
	}
	expect((await stand.call("GET", "/v1/flows")).json.flows).toEqual([]);
	expect((await stand.call("GET", "/v1/executions")).json.executions).toEqual([]);
});

test("a large flow is read like a small one, and refused like one", async () => {
	const stand = await Stand.open();
	const input = "y".repeat(20_000);
	const nodes = Array.from({ length: 200 }, (_, n) => ({ key: `n${n}`, kind: "job", input }));
	const edges = nodes.slice(1).map(({ key }, n) => ({ from: nodes[n]?.key, to: key }));
	const made = await stand.call("POST", "/v1/flows", { body: { edges, nodes, tags: { team: "a" }, kind: "wide" } });
	expect(made).toMatchObject({ status: 201 });
	const { json } = await stand.call("GET", `/v1/flows/${made.json.id}`);
	expect(json).toMatchObject({ kind: "wide", tags: { team: "a" }, nodeCount: 200, edgeCount: 199 });
	const body = (await stand.call("GET", `/v1/executions/${made.json.nodes.n199}/input`)).json;
	expect(body).toBe(input);
	const padding = " ".repeat(1.6 * 1024 * 1024);
	const good = '{"key":"a","kind":"job"}';
	const many = Array.from({ length: 10_001 }, () => good).join(",");
	const cases: [body: string, code: string, field: string][] = [
		[`[${padding}]`, "invalid_input", "request"],
		[`{${padding}"kind":"a"}`, "invalid_input", "nodes"],
		[`{${padding}"nodes":7}`, "invalid_input", "nodes"],
		[`{${padding}"nodes":[${many}]}`, "too_many_nodes", "nodes"],
		[`{${padding}"nodes":[${good}],"nodes":[]}`, "invalid_input", "nodes"],
		[`{${padding}"nodes":[${good}],"more":1}`, "invalid_input", "more"],
		[`{${padding}"nodes":[${good}],"kind":tru}`, "invalid_input", "body"],
		[`{${padding}"nodes":[${good},{"key":"b"}]}`, "invalid_input", "nodes[1].kind"],
		[`{${padding}"nodes":[${good},{"key":"b",}]}`, "invalid_input", "nodes[1]"],
		[`{${padding}"nodes":[${good}}}`, "invalid_input", "body"],
		[`{"nodes":[${good},{"key":"b","kind":"job","input":"${padding}"}]}`, "payload_too_large", "nodes[1]"],
		[`{${padding}"nodes":[${good}],"edges":[{"from":"a"}]}`, "invalid_input", "edges[0].to"],
	];
	for (const [text, code, field] of cases) {
		const { json: refused } = await stand.call("POST", "/v1/flows", { body: text });
		expect([refused.error?.code, refused.error?.details?.field]).toEqual([code, field]);
	}
	expect((await stand.call("GET", "/v1/flows")).json.flows).toHaveLength(1);
});

test("others are answered while a flow of many edges is being read", async () => {
	const stand = await Stand.open();
	const nodes = Array.from({ length: 1000 }, (_, n) => ({ key: `n${n}`, kind: "job" }));
	const edges = Array.from({ length: 200_000 }, (_, n) => ({ from: `n${n % 1000}`, to: "nobody at all" }));
	let answered = false;
	const call = stand.call("POST", "/v1/flows", { body: { nodes, edges } }).finally(() => (answered = true));
	let meanwhile = 0;
	while (!answered) {
		expect((await stand.call("GET", "/healthz")).status).toBe(200);
		if (!answered) meanwhile += 1;
	}
	expect((await call).json.error).toMatchObject({ code: "unknown_node", details: { field: "edges[0].to" } });
	expect(meanwhile).toBeGreaterThan(10);
});

test("events of a flow and its members come in one order, paged, awaited and as a stream", async () => {
	const stand = await Stand.open();
	const { id, nodes } = (await stand.call("POST", "/v1/flows", { body: chain })).json;
	const types = ({ events }: { events: { type: string }[] }) => events.map(({ type }) => type);
	const first = (await stand.call("GET", `/v1/flows/${id}/events`)).json;
	expect(types(first)).toContain("flow_created");
	const next = stand.call("GET", `/v1/flows/${id}/events?waitMs=30000&cursor=${first.nextCursor}`);
	await stand.backend.leases.claim({ workerId: "w", instanceId: "w-1" });
	expect((await next).json.events).toMatchObject([{ type: "claimed", executionId: nodes.build, flowId: id }]);
	const aborting = new AbortController();
	const response = await fetch(`${stand.server.address}/v1/flows/${id}/events`, {
		headers: { accept: "text/event-stream" },
		signal: aborting.signal,
	});
	let heard = "";
	for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
		heard += Buffer.from(chunk).toString();
		if (heard.includes("event: claimed")) break;
	}
	aborting.abort();
	expect(heard).toContain("event: flow_created");
	const bad = await stand.call("GET", `/v1/flows/${id}/events?limit=1`, { headers: { accept: "text/event-stream" } });
	expect(bad).toMatchObject({ status: 400, json: { error: { details: { field: "limit" } } } });
	await until(async () => (await stand.call("GET", "/metrics")).text.includes('event_tails"} 0'));
});

test("a flow of another namespace is unknown, to the letter", async () => {
	const stand = await Stand.open({ tokens: [entry("ada", "admin", "a"), entry("bo", "admin", "b")] });
	const { id } = (await stand.call("POST", "/v1/flows", { token: tokenOf("ada"), body: { ...chain, sealed: false } }))
		.json;
	const unknown = `fl_${"0".repeat(32)}_0`;
	const token = tokenOf("bo");
	const ways: [method: string, path: string, body?: unknown][] = [
		["GET", ""],
		["GET", "/wait?timeoutMs=0"],
		["GET", "/events"],
		["POST", "/members", { key: "c", kind: "job" }],
		["POST", "/edges", { from: "build", to: "test", expectedRevision: 0 }],
		["POST", "/seal"],
		["POST", "/cancel", { policy: "cancel_all" }],
		["POST", "/cancel?wait=true", { policy: "cancel_all" }],
		["PUT", "/groups/test", { policy: "any_of" }],
		["DELETE", ""],
	];
	for (const [method, path, body] of ways) {
		const foreign = await stand.call(method, `/v1/flows/${id}${path}`, { token, body });
		const missing = await stand.call(method, `/v1/flows/${unknown}${path}`, { token, body });
		expect([method, path, foreign.status]).toEqual([method, path, 404]);
		expect(foreign.json.error.code).toBe("flow_not_found");
		expect(foreign.text.replaceAll(id, "ID")).toBe(missing.text.replaceAll(unknown, "ID"));
	}
	expect((await stand.call("GET", "/v1/flows", { token })).json.flows).toEqual([]);
	expect((await stand.call("GET", "/v1/flows?namespace=a", { token })).status).toBe(403);
	const into = await stand.call("POST", "/v1/flows", { token, body: { ...chain, namespace: "a" } });
	expect(into).toMatchObject({ status: 403, json: { error: { code: "forbidden" } } });
	const own = await stand.call("GET", `/v1/flows/${id}`, { token: tokenOf("ada") });
	expect(own).toMatchObject({ status: 200, json: { namespace: "a", sealed: false, revision: expect.any(Number) } });
});

test("viewers and workers read flows, submitters make, cancel and delete them", async () => {
	const roles = ["viewer", "worker", "submitter", "operator", "admin"] as const;
	const stand = await Stand.open({ tokens: roles.map((role) => entry(role, role)) });
	const may = async (method: string, path: string, body?: unknown) => {
		const allowed = [];
		for (const role of roles)
			if ((await stand.call(method, path, { token: tokenOf(role), body })).status !== 403) allowed.push(role);
		return allowed;
	};
	const submitters = ["submitter", "operator", "admin"];
	const unknown = `/v1/flows/fl_${"0".repeat(32)}_0`;
	for (const path of ["/v1/flows", unknown, `${unknown}/wait?timeoutMs=0`, `${unknown}/events`])
		expect(await may("GET", path)).toEqual(roles);
	expect(await may("POST", "/v1/flows", chain)).toEqual(submitters);
	for (const path of ["/members", "/edges", "/seal", "/cancel"])
		expect(await may("POST", unknown + path, {})).toEqual(submitters);
	expect(await may("PUT", `${unknown}/groups/a`, {})).toEqual(submitters);
	expect(await may("DELETE", unknown)).toEqual(submitters);
	expect((await stand.call("GET", "/v1/flows")).status).toBe(401);
});

test("over HTTP a node's input that is no data is refused by its place, as in process", async () => {
	const stand = await Stand.open();
	const remote = stand.connect();
	const bad = { nodes: [{ key: "a", kind: "job", input: () => 1 }] };
	const refusals = async (flows: FlowCalls) => flows.create(bad).catch((error) => [error.code, error.details.field]);
	expect(await refusals(remote.flows)).toEqual(["invalid_input", "nodes[0].input"]);
	expect(await refusals(stand.backend.flows)).toEqual(await refusals(remote.flows));
});
