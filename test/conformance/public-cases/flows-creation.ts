import { expect } from "vitest";
import { chain, drawn, flowOf, numbered } from "../flow-work.ts";
import { type PublicCase, refusal } from "../scene.ts";

/** Making a flow whole. */
export function flowCreationCases(test: PublicCase): void {
	test("a DAG is made in one call, which tells the execution of every node", async (scene) => {
		const request = drawn({ nodes: ["a", "b", "c"], edges: ["a > b", "a > c"] });
		const created = await scene.backend.flows.create(request);
		expect(created).toEqual({
			id: expect.stringMatching(/^fl_[0-9a-f]{32}_\d+$/),
			revision: 1,
			created: true,
			nodes: { a: expect.any(String), b: expect.any(String), c: expect.any(String) },
		});
		for (const [key, id] of Object.entries(created.nodes))
			expect(await scene.get(id)).toMatchObject({ id, kind: key, flowId: created.id });
	});

	test("what nothing leads to can run at once, and the rest waits for its edges", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["b", "a"], edges: ["a > b"] });
		expect(await scene.state(flow.idOf("a"))).toEqual({
			publicState: "waiting",
			lifecyclePhase: "runnable",
			ownershipState: "unowned",
			eligibilityState: "eligible_now",
			blockingReason: "waiting_for_worker",
			terminalOutcome: "none",
			attemptState: "pending_first_attempt",
		});
		expect(await scene.state(flow.idOf("b"))).toEqual({
			publicState: "waiting_children",
			lifecyclePhase: "runnable",
			ownershipState: "unowned",
			eligibilityState: "blocked_by_dependencies",
			blockingReason: "waiting_for_children",
			terminalOutcome: "none",
			attemptState: "pending_first_attempt",
		});
		expect(await scene.claim({ max: 10 })).toMatchObject([{ id: flow.idOf("a"), flowId: flow.id }]);
	});

	test("a flow reads with its nodes, none before one it waits for, and its edges", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["b", "a"], edges: ["a > b on completion as x"] });
		expect(await flow.look()).toEqual({
			id: flow.id,
			kind: "",
			namespace: "default",
			state: "open",
			counts: { waiting: 1, waiting_children: 1 },
			nodeCount: 2,
			edgeCount: 1,
			revision: 1,
			sealed: true,
			tags: {},
			budgets: [],
			retentionMs: 86_400_000,
			createdBy: "local",
			createdAt: scene.now,
			nodes: [
				{
					key: "a",
					executionId: flow.idOf("a"),
					kind: "a",
					publicState: "waiting",
					group: { policy: "all_of", onSatisfied: "let_run", edges: 0, satisfied: 0, impossible: 0 },
				},
				{
					key: "b",
					executionId: flow.idOf("b"),
					kind: "b",
					publicState: "waiting_children",
					group: { policy: "all_of", onSatisfied: "let_run", edges: 1, satisfied: 0, impossible: 0 },
				},
			],
			edges: [
				{
					id: expect.stringMatching(/^ed_[0-9a-f]{32}_\d+$/),
					from: "a",
					to: "b",
					on: "completion",
					passResultAs: "x",
					state: "pending",
				},
			],
		});
	});

	test("kind, tags, budgets, retention and who made it are kept and shown", async (scene) => {
		await scene.backend.budgets.create({ id: "team", dimensions: { tokens: { hard: 5 } } });
		const given = { kind: "release", tags: { team: "red" }, budgets: ["team"], retentionMs: 5, createdBy: "ann" };
		const flow = await flowOf(scene, { ...given, idempotencyKey: "k", nodes: ["a"] });
		expect(await flow.look()).toMatchObject({ ...given, idempotencyKey: "k" });
		expect((await scene.backend.flows.list()).flows).toMatchObject([{ id: flow.id, ...given }]);
	});

	test("members live where their flow does", async (scene) => {
		const { id, nodes } = await flowOf(scene, { nodes: numbered(5) });
		const slot = id.slice(id.lastIndexOf("_"));
		for (const member of Object.values(nodes)) expect(member.slice(member.lastIndexOf("_"))).toBe(slot);
	});

	test("a node takes what a submission takes", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: [
				{ key: "a", kind: "job", lane: "side", priority: 7, tags: { x: "1" }, input: { deep: [1] }, fairnessKey: "f" },
				{ key: "b", kind: "job", inputBase64: "AP8=", contentType: "image/png", requiredCapabilities: ["gpu"] },
			],
		});
		expect(await scene.get(flow.idOf("a"))).toMatchObject({ lane: "side", priority: 7, tags: { x: "1" } });
		const held = await scene.take({ lanes: ["side"] });
		expect(held).toMatchObject({ id: flow.idOf("a"), input: { deep: [1] }, flowId: flow.id });
		const other = await scene.take({ capabilities: ["gpu"] });
		expect(other).toMatchObject({ id: flow.idOf("b"), inputBase64: "AP8=", contentType: "image/png" });
	});

	test("a sealed flow without nodes has nothing to wait for and is complete", async (scene) => {
		const flow = await flowOf(scene, { nodes: [] });
		expect(await flow.look()).toMatchObject({ state: "completed", counts: {}, endedAt: scene.now });
	});

	test("a flow of more than fits into one step is made whole, and runs", async (scene) => {
		const keys = numbered(200);
		const nodes = [...keys.map((key) => ({ key, kind: "job", input: "x".repeat(5000) })), "last"];
		const flow = await flowOf(scene, { nodes, edges: keys.map((key) => `${key} > last`) });
		expect(await flow.look()).toMatchObject({ counts: { waiting: 200, waiting_children: 1 }, edgeCount: 200 });
		for (const { id, lease } of await scene.claim({ max: 256, leaseMs: 600_000 }))
			await scene.backend.leases.complete(id, { fence: { leaseId: lease.id, epoch: lease.epoch } });
		await flow.complete("last");
		expect(await flow.state()).toBe("completed");
	});

	test("nothing of a large flow is in a list or is claimed before the flow is", async (scene) => {
		const keys = numbered(400);
		let isMade = false;
		const making = flowOf(scene, { nodes: keys, edges: chain(keys) }).finally(() => {
			isMade = true;
		});
		while (!isMade) {
			const seen = [...(await scene.listed()), ...(await scene.claim())];
			const { flows } = await scene.backend.flows.list();
			if (seen.length > 0) expect(flows).toHaveLength(1);
			await new Promise((resolve) => setImmediate(resolve));
		}
		const flow = await making;
		expect(await scene.listed()).toHaveLength(400);
		expect((await flow.look()).nodeCount).toBe(400);
	});

	test("what a node names must exist: otherwise the whole flow is refused and nothing is left", async (scene) => {
		const before = await scene.records();
		const unknown = { nodes: ["a", { key: "b", budgets: ["none"] }] };
		expect(await refusal(flowOf(scene, unknown))).toMatchObject({ code: "budget_not_found" });
		const quota = { nodes: ["a", { key: "b", quotas: ["none"] }] };
		expect(await refusal(flowOf(scene, quota))).toMatchObject({ code: "quota_not_found" });
		expect(await refusal(flowOf(scene, { nodes: [], budgets: ["none"] }))).toMatchObject({ code: "budget_not_found" });
		expect(await scene.records()).toEqual(before);
		expect(await scene.backend.flows.list()).toEqual({ flows: [] });
	});

	for (const [what, count] of Object.entries({ small: 2, large: 150 })) {
		test(`a ${what} flow with a node for a lane that drains is refused whole`, async (scene) => {
			await scene.backend.lanes.drain("closed");
			await scene.clock.settle();
			const before = await scene.records();
			const nodes = [...numbered(count), { key: "last", lane: "closed" }];
			const error = await refusal(flowOf(scene, { nodes }));
			expect(error).toMatchObject({ code: "lane_draining", details: { lane: "closed", node: "last" } });
			await scene.clock.settle();
			expect(await scene.records()).toEqual(before);
			expect(await scene.listed()).toEqual([]);
		});
	}

	test("a budget of a flow binds every member, beside its own", async (scene) => {
		const { budgets } = scene.backend;
		await budgets.create({ id: "team", dimensions: { tokens: { hard: 5 } } });
		await budgets.create({ id: "own", dimensions: { tokens: { hard: 5 } } });
		const flow = await flowOf(scene, { budgets: ["team"], nodes: ["a", { key: "b", budgets: ["own"] }] });
		expect((await scene.get(flow.idOf("a"))).budgets).toEqual(["team"]);
		expect((await scene.get(flow.idOf("b"))).budgets).toEqual(["own", "team"]);
		await budgets.usage("team", { dims: { tokens: 5 } });
		expect(await scene.claim({ max: 5 })).toEqual([]);
		expect(await flow.states()).toEqual({ a: "rate_limited", b: "rate_limited" });
		await budgets.reset("team");
		await scene.clock.settle();
		expect(await scene.claim({ max: 5 })).toHaveLength(2);
	});

	test("flows are listed newest first, in pages, and by kind", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 5; n++) {
			ids.unshift((await flowOf(scene, { kind: n % 2 ? "odd" : "even", nodes: ["a"] })).id);
			await scene.clock.advance(1);
		}
		const found: string[] = [];
		for (let cursor: string | undefined; ; ) {
			const page = await scene.backend.flows.list({ limit: 2, ...(cursor === undefined ? undefined : { cursor }) });
			found.push(...page.flows.map(({ id }) => id));
			cursor = page.nextCursor;
			if (cursor === undefined) break;
		}
		expect(found).toEqual(ids);
		const odd = await scene.backend.flows.list({ kind: "odd" });
		expect(odd.flows.map(({ id }) => id)).toEqual([ids[1], ids[3]]);
		expect((await refusal(scene.backend.flows.list({ cursor: "nonsense" }))).code).toBe("invalid_input");
	});
}
