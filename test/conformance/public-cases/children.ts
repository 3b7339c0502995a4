import { expect } from "vitest";
import type { AddedChild, ChildRequest, CreateRequest, WaitChildrenRequest } from "../../../src/index.ts";
import { foreignFence, type Held, type PublicCase, refusal, type Scene, unknownId } from "../scene.ts";

const MIB = 1024 * 1024;
/** Children go their own way, so that a case can take its parent, or them. */
const KIDS = "kids";

const add = (scene: Scene, { id, fence }: Held, ...items: Partial<ChildRequest>[]): Promise<AddedChild[]> =>
	scene.backend.leases.addChildren(id, {
		fence,
		items: items.map((item, n) => ({ key: `c${n}`, kind: "job", lane: KIDS, ...item })),
	});

const idsOf = (children: readonly AddedChild[]): string[] => children.map(({ id = "" }) => id);

async function addIds(scene: Scene, held: Held, count: number, item: Partial<ChildRequest> = {}): Promise<string[]> {
	return idsOf(await add(scene, held, ...Array.from({ length: count }, (_, n) => ({ key: `c${n}`, ...item }))));
}

const wait = (scene: Scene, { id, fence }: Held, request: Partial<WaitChildrenRequest> = {}) =>
	scene.backend.leases.waitChildren(id, { fence, mode: "all", ...request });

const parent = (scene: Scene, request: Partial<CreateRequest> = {}): Promise<Held> => scene.start(request);

/** Claims the child that is next, and ends it. */
async function end(
	scene: Scene,
	how: { result?: unknown; resultBase64?: string; reason?: string } = {},
): Promise<string> {
	const { id, fence } = await scene.take({ lanes: [KIDS] });
	const { reason, ...result } = how;
	if (reason === undefined) await scene.backend.leases.complete(id, { fence, ...result });
	else await scene.backend.leases.fail(id, { fence, reason });
	return id;
}

const stateOf = async (scene: Scene, id: string) => (await scene.get(id)).publicState;

export function childrenCases(test: PublicCase): void {
	test("children are submitted by whoever holds their parent, and say whose they are", async (scene) => {
		const held = await parent(scene);
		const [a, b] = await add(scene, held, { key: "a", input: { n: 1 } }, { key: "b", kind: "other" });
		expect(a).toEqual({ key: "a", ok: true, id: expect.any(String), publicState: "waiting", created: true });
		expect(await scene.get(a?.id ?? "")).toMatchObject({ kind: "job", parentId: held.id, publicState: "waiting" });
		expect(await scene.get(b?.id ?? "")).toMatchObject({ kind: "other", parentId: held.id });
		expect(await scene.get(held.id)).not.toHaveProperty("parentId");
		expect(await scene.get(a?.id ?? "")).not.toHaveProperty("flowId");
		const claimed = await scene.take({ lanes: [KIDS], kinds: ["job"] });
		expect(claimed).toMatchObject({ id: a?.id, input: { n: 1 } });
	});

	test("a child lives where its parent does", async (scene) => {
		const held = await parent(scene);
		const [id = ""] = await addIds(scene, held, 1);
		expect(id.split("_")[2]).toBe(held.id.split("_")[2]);
	});

	test("a key that is given again is the same child, whatever else is said", async (scene) => {
		const held = await parent(scene);
		const [first] = await add(scene, held, { key: "a", input: 1 });
		const again = await add(scene, held, { key: "a", input: 2, kind: "other", priority: 5 }, { key: "b" });
		expect(again[0]).toEqual({ ...first, created: false });
		expect(again[1]).toMatchObject({ key: "b", created: true });
		expect(await scene.get(first?.id ?? "")).toMatchObject({ kind: "job", priority: 0 });
		const twice = await add(scene, held, { key: "c" }, { key: "c" });
		expect(new Set(idsOf(twice)).size).toBe(1);
		expect(twice.map(({ created }) => created)).toEqual([true, false]);
	});

	test("keys of one parent are not those of another", async (scene) => {
		const one = await parent(scene);
		const other = await parent(scene);
		const [a] = await addIds(scene, one, 1);
		const [b] = await addIds(scene, other, 1);
		expect(a).not.toBe(b);
	});

	test("the same child is there for whoever goes on after a crash", async (scene) => {
		const held = await parent(scene);
		const [id] = await addIds(scene, held, 1);
		await scene.clock.advance(31_000);
		const again = await scene.take();
		expect(again).toMatchObject({ id: held.id, attempt: { index: 1, type: "reclaim" } });
		expect(await add(scene, again, { key: "c0" })).toMatchObject([{ id, created: false }]);
	});

	test("a child that was removed is still the one of its key", async (scene) => {
		const held = await parent(scene);
		const [id = ""] = await addIds(scene, held, 1);
		await end(scene, { reason: "no" });
		await scene.backend.executions.delete(id);
		expect(await add(scene, held, { key: "c0" })).toMatchObject([{ id, created: false, publicState: "failed" }]);
	});

	test("lane, priority, fairness key and quotas are the parent's unless given", async (scene) => {
		for (const id of ["q1", "q2"]) await scene.backend.quotas.create({ id, concurrency: 5 });
		const held = await scene.start({ lane: "l", priority: 7, fairnessKey: "k", quotas: ["q1"] });
		const items = [
			{ key: "a", kind: "job" },
			{ key: "b", kind: "job", lane: "m", priority: 1, quotas: ["q2"] },
		];
		const [a = "", b = ""] = idsOf(await scene.backend.leases.addChildren(held.id, { fence: held.fence, items }));
		expect(await scene.get(a)).toMatchObject({ lane: "l", priority: 7, quotas: ["q1"] });
		expect(await scene.get(b)).toMatchObject({ lane: "m", priority: 1, quotas: ["q2"] });
	});

	test("budgets that are given are added to the parent's", async (scene) => {
		for (const id of ["b1", "b2"]) await scene.backend.budgets.create({ id, dimensions: { usd: { hard: 10 } } });
		const held = await parent(scene, { budgets: ["b1"] });
		const [plain = "", more = ""] = idsOf(
			await add(scene, held, {}, { key: "more", budgets: ["b2"], reserve: { b1: { usd: 1 } } }),
		);
		expect(await scene.get(plain)).toMatchObject({ budgets: ["b1"] });
		expect(await scene.get(more)).toMatchObject({ budgets: ["b1", "b2"] });
	});

	test("an item that is refused spoils none beside it, and is refused by name", async (scene) => {
		const held = await parent(scene);
		const answers = await add(
			scene,
			held,
			{ key: "ok" },
			{ key: "a", kind: "" },
			{ key: "b", idempotencyKey: "k" } as Partial<ChildRequest>,
			{ key: "c", namespace: "elsewhere" },
			{ key: "d", budgets: ["none"] },
			{ key: "e", quotas: ["none"] },
			{ key: "f", onParentEnd: "stay" as never },
			{ key: "" },
			{ key: "h", nonsense: 1 } as Partial<ChildRequest>,
			{ key: "last" },
		);
		expect(answers.map(({ ok }) => ok)).toEqual([true, ...Array.from({ length: 8 }, () => false), true]);
		const fields = answers.slice(1, -1).map(({ error }) => error?.details?.field ?? error?.code);
		expect(fields).toEqual([
			"kind",
			"idempotencyKey",
			"namespace",
			"budget_not_found",
			"quota_not_found",
			"onParentEnd",
			"key",
			"nonsense",
		]);
		expect((await scene.backend.executions.list({ parentId: held.id })).executions).toHaveLength(2);
	});

	test("a child that was made is found although its budget is gone", async (scene) => {
		await scene.backend.budgets.create({ id: "b", dimensions: { usd: { hard: 10 } } });
		const held = await parent(scene);
		const [first] = await add(scene, held, { key: "a", budgets: ["b"] });
		await scene.backend.budgets.delete("b");
		await scene.clock.advance(2000);
		const answers = await add(scene, held, { key: "a", budgets: ["b"] }, { key: "b", budgets: ["b"] });
		expect(answers).toMatchObject([{ id: first?.id, created: false }, { ok: false }]);
		expect(answers[1]?.error?.code).toBe("budget_not_found");
	});

	test("nobody adds children, or waits, without the lease", async (scene) => {
		const held = await parent(scene);
		const items = [{ key: "a", kind: "job" }];
		const { leases } = scene.backend;
		for (const [request, code] of [
			[{}, "fence_required"],
			[{ fence: foreignFence }, "stale_lease"],
		] as const) {
			expect((await refusal(leases.addChildren(held.id, { ...request, items }))).code).toBe(code);
			expect((await refusal(leases.addChildren(held.id, { ...request, items: [] }))).code).toBe(code);
			expect((await refusal(leases.waitChildren(held.id, { ...request, mode: "all" }))).code).toBe(code);
		}
		const { fence } = held;
		expect((await refusal(leases.addChildren(unknownId, { fence, items }))).code).toBe("execution_not_found");
		expect((await refusal(leases.waitChildren(unknownId, { fence, mode: "all" }))).code).toBe("execution_not_found");
		await leases.complete(held.id, { fence });
		expect((await refusal(leases.addChildren(held.id, { fence, items }))).code).toBe("execution_not_active");
		expect((await refusal(leases.waitChildren(held.id, { fence, mode: "all" }))).code).toBe("execution_not_active");
	});

	test("a call takes a thousand children, and no more", async (scene) => {
		const held = await parent(scene);
		const items = Array.from({ length: 1001 }, (_, n) => ({ key: `k${n}`, kind: "job", lane: KIDS }));
		const { leases } = scene.backend;
		const refused = await refusal(leases.addChildren(held.id, { fence: held.fence, items }));
		expect([refused.code, refused.details.field]).toEqual(["invalid_input", "items"]);
		const made = await leases.addChildren(held.id, { fence: held.fence, items: items.slice(0, 1000) });
		expect(made.filter(({ created }) => created)).toHaveLength(1000);
		expect(new Set(idsOf(made)).size).toBe(1000);
		expect((await scene.backend.executions.list({ parentId: held.id, limit: 1000 })).executions).toHaveLength(1000);
	});

	test("children bring bytes of their own", async (scene) => {
		const held = await parent(scene);
		const large = "x".repeat(MIB - 2);
		const bytes = Buffer.from([0, 1, 255]).toString("base64");
		const answers = await add(
			scene,
			held,
			{ key: "a", input: large },
			{ key: "b", inputBase64: bytes },
			{ key: "c", input: `${large}!` },
			{ key: "d", input: large },
		);
		expect(answers.map(({ ok }) => ok)).toEqual([true, true, false, true]);
		expect(answers[2]?.error?.code).toBe("payload_too_large");
		expect(await scene.take({ lanes: [KIDS] })).toMatchObject({ input: large });
		expect(await scene.take({ lanes: [KIDS] })).toMatchObject({ inputBase64: bytes });
	});

	test("whoever was asked to stop adds no children", async (scene) => {
		const held = await parent(scene);
		await scene.backend.executions.cancel(held.id);
		expect((await refusal(addIds(scene, held, 1))).code).toBe("cancel_requested");
		expect((await scene.backend.executions.list({ parentId: held.id })).executions).toEqual([]);
	});

	test("a member of a cancelled flow adds no children", async (scene) => {
		const { id } = await scene.backend.flows.create({ nodes: [{ key: "n", kind: "job" }] });
		const held = await scene.take();
		await scene.backend.flows.cancel(id, { policy: "cancel_pending" });
		expect((await refusal(addIds(scene, held, 1))).code).toBe("flow_cancelled");
	});

	test("a lane that is drained takes children of what runs in it, and of nothing else", async (scene) => {
		const held = await parent(scene);
		await scene.backend.lanes.drain("default");
		await scene.backend.lanes.drain(KIDS);
		const answers = await add(scene, held, { key: "own", lane: "default" }, { key: "other" });
		expect(answers.map(({ ok, error }) => error?.code ?? ok)).toEqual([true, "lane_draining"]);
	});

	test("children are listed by their parent, newest first, page by page, and by what else is asked", async (scene) => {
		const held = await parent(scene);
		const other = await parent(scene);
		await addIds(scene, other, 2);
		const ids: string[] = [];
		for (let n = 0; n < 5; n++) {
			ids.push(...idsOf(await add(scene, held, { key: `k${n}`, kind: n === 3 ? "odd" : "job" })));
			await scene.clock.advance(10);
		}
		const { list } = scene.backend.executions;
		const by = async (request: Parameters<typeof list>[0]) =>
			(await scene.backend.executions.list({ parentId: held.id, ...request })).executions.map(({ id }) => id);
		expect(await by({})).toEqual([...ids].reverse());
		const first = await scene.backend.executions.list({ parentId: held.id, limit: 2 });
		expect(first.executions.map(({ id }) => id)).toEqual([ids[4], ids[3]]);
		expect(await by({ cursor: first.nextCursor ?? "", limit: 3 })).toEqual([ids[2], ids[1], ids[0]]);
		expect(await by({ kind: "odd" })).toEqual([ids[3]]);
		expect(await by({ state: "completed" })).toEqual([]);
		expect(await by({ createdAfter: scene.now - 20 })).toEqual([ids[4], ids[3]]);
		expect(await by({ createdBefore: scene.now - 20 })).toEqual([ids[2], ids[1], ids[0]]);
		expect(await by({ namespace: "a" })).toEqual([]);
		const wrong = await refusal(scene.backend.executions.list({ parentId: "nobody" }));
		expect([wrong.code, wrong.details.field]).toEqual(["invalid_input", "parentId"]);
	});

	test("children are of their parent's namespace, and others see nothing of them", async (scene) => {
		const ada = scene.as({ actor: "ada", namespace: "a" });
		const bob = scene.as({ actor: "bob", namespace: "b" });
		await ada.executions.create({ kind: "job" });
		const [claimed] = await ada.leases.claim({ workerId: "w", instanceId: "w-1" });
		const fence = { leaseId: claimed?.lease.id ?? "", epoch: 1 };
		const id = claimed?.id ?? "";
		const [child] = await ada.leases.addChildren(id, { fence, items: [{ key: "a", kind: "job" }] });
		expect(await ada.executions.get(child?.id ?? "")).toMatchObject({ namespace: "a", parentId: id });
		expect((await bob.executions.list({ parentId: id })).executions).toEqual([]);
		const items = [{ key: "b", kind: "job" }];
		expect((await refusal(bob.leases.addChildren(id, { fence, items }))).code).toBe("execution_not_found");
		expect((await refusal(bob.leases.waitChildren(id, { fence, mode: "all" }))).code).toBe("execution_not_found");
	});

	test("the history of a child begins with whose it is", async (scene) => {
		const held = await parent(scene);
		const [id = ""] = await addIds(scene, held, 1);
		expect(await scene.events(id)).toMatchObject([{ type: "created", parentId: held.id, key: "c0" }]);
	});
}

export function childrenWaitCases(test: PublicCase): void {
	test("whoever waits for children holds nothing, and says so", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 2);
		expect(await wait(scene, held)).toEqual({ publicState: "waiting_children" });
		expect(await scene.state(held.id)).toEqual({
			publicState: "waiting_children",
			lifecyclePhase: "runnable",
			ownershipState: "unowned",
			eligibilityState: "blocked_by_dependencies",
			blockingReason: "waiting_for_children",
			terminalOutcome: "none",
			attemptState: "attempt_interrupted",
		});
		const read = await scene.get(held.id);
		expect(read).not.toHaveProperty("lease");
		expect(read.blockingDetail).toBe("waiting for all of 2 children");
		expect(await scene.claim()).toEqual([]);
	});

	test("the same attempt goes on when all have ended, with what came of them", async (scene) => {
		const held = await parent(scene);
		const ids = await addIds(scene, held, 3);
		await wait(scene, held);
		await end(scene, { result: { n: 1 } });
		await end(scene, { reason: "broken" });
		expect(await stateOf(scene, held.id)).toBe("waiting_children");
		await end(scene, { resultBase64: Buffer.from([0, 255]).toString("base64") });
		expect(await scene.state(held.id)).toMatchObject({ publicState: "waiting", attemptState: "attempt_interrupted" });
		const again = await scene.take();
		expect(again).toMatchObject({ id: held.id, attempt: { index: 0, type: "initial" }, lease: { epoch: 2 } });
		expect(again.children).toEqual([
			{
				key: "c0",
				executionId: ids[0],
				publicState: "completed",
				size: 7,
				contentType: "application/json",
				result: { n: 1 },
			},
			{
				key: "c1",
				executionId: ids[1],
				publicState: "failed",
				failure: { reason: "broken", category: "error" },
			},
			{
				key: "c2",
				executionId: ids[2],
				publicState: "completed",
				size: 2,
				contentType: "application/octet-stream",
				resultBase64: "AP8=",
			},
		]);
		expect(await scene.get(held.id)).toMatchObject({ reclaims: 0, retries: 0 });
		expect(held.children).toBeUndefined();
	});

	test("waiting for what is done already gives the lease back, and goes on", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 1);
		await end(scene, { result: 1 });
		expect(await wait(scene, held)).toEqual({ publicState: "waiting" });
		const again = await scene.take();
		expect(again).toMatchObject({ id: held.id, attempt: { index: 0 }, children: [{ key: "c0", result: 1 }] });
		expect(again.lease.id).not.toBe(held.lease.id);
	});

	test("waiting for nobody goes on", async (scene) => {
		for (const mode of ["all", "any", "first_success"] as const) {
			const held = await parent(scene);
			expect(await wait(scene, held, { mode })).toEqual({ publicState: "waiting" });
			const again = await scene.take();
			expect(again.children).toEqual([]);
			await scene.backend.leases.complete(again.id, { fence: again.fence });
		}
	});

	test("any: the first that ends is enough, however it ends", async (scene) => {
		const held = await parent(scene);
		const ids = await addIds(scene, held, 2);
		await wait(scene, held, { mode: "any" });
		await end(scene, { reason: "no" });
		const again = await scene.take();
		expect(again.children).toMatchObject([
			{ executionId: ids[0], publicState: "failed" },
			{ executionId: ids[1], publicState: "waiting" },
		]);
		expect(await stateOf(scene, ids[1] ?? "")).toBe("waiting");
	});

	test("first_success: the first that succeeds", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 3);
		await wait(scene, held, { mode: "first_success" });
		await end(scene, { reason: "no" });
		expect(await stateOf(scene, held.id)).toBe("waiting_children");
		await end(scene, { result: "yes" });
		const again = await scene.take();
		expect(again.children?.map(({ publicState }) => publicState)).toEqual(["failed", "completed", "waiting"]);
		expect(again.children?.[1]?.result).toBe("yes");
	});

	test("first_success: or all ended without", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 2);
		await wait(scene, held, { mode: "first_success" });
		await end(scene, { reason: "no" });
		await end(scene, { reason: "no" });
		expect((await scene.take()).children?.map(({ publicState }) => publicState)).toEqual(["failed", "failed"]);
	});

	test("what ended before counts", async (scene) => {
		for (const [mode, reason] of [
			["any", "no"],
			["first_success", undefined],
		] as const) {
			const held = await parent(scene);
			await addIds(scene, held, 2);
			await end(scene, reason === undefined ? {} : { reason });
			expect(await wait(scene, held, { mode })).toEqual({ publicState: "waiting" });
			const again = await scene.take();
			expect(again.children).toHaveLength(2);
			await scene.backend.leases.complete(again.id, { fence: again.fence });
			await scene.clock.settle();
		}
	});

	test("some may be named, and only these are waited for and told of", async (scene) => {
		const held = await parent(scene);
		const ids = await addIds(scene, held, 4);
		await wait(scene, held, { ids: [ids[2] ?? "", ids[0] ?? "", ids[0] ?? ""] });
		expect((await scene.get(held.id)).blockingDetail).toBe("waiting for all of 2 children");
		await end(scene);
		await end(scene);
		expect(await stateOf(scene, held.id)).toBe("waiting_children");
		await end(scene);
		expect((await scene.take()).children?.map(({ executionId }) => executionId)).toEqual([ids[0], ids[2]]);
	});

	test("who is no child cannot be waited for", async (scene) => {
		const held = await parent(scene);
		const other = await parent(scene);
		const [id = ""] = await addIds(scene, held, 1);
		const [foreign = ""] = await addIds(scene, other, 1);
		for (const stranger of [foreign, held.id, unknownId]) {
			const { code, details } = await refusal(wait(scene, held, { ids: [id, stranger] }));
			expect([code, details.field]).toEqual(["invalid_input", "ids[1]"]);
		}
		for (const request of [{ ids: [] }, { mode: "most" as never }, { ids: ["x"] }])
			expect((await refusal(wait(scene, held, request))).code).toBe("invalid_input");
		expect(await stateOf(scene, held.id)).toBe("active");
	});

	test("a wait that is repeated is the same wait", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 1);
		const first = await wait(scene, held);
		expect(await wait(scene, held)).toEqual(first);
		await end(scene);
		expect(await wait(scene, held)).toEqual(first);
		expect((await scene.eventTypes(held.id)).filter((type) => type === "blocked")).toHaveLength(1);
		const again = await scene.take();
		expect(await wait(scene, held)).toEqual(first);
		expect(await stateOf(scene, again.id)).toBe("active");
	});

	test("children are told of with every claim until the next wait", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 1);
		await end(scene, { result: 1 });
		await wait(scene, held);
		const second = await scene.take();
		await scene.clock.advance(31_000);
		const third = await scene.take();
		expect(third).toMatchObject({ attempt: { type: "reclaim" }, children: second.children });
		await scene.backend.leases.release(third.id, { fence: third.fence });
		const fourth = await scene.take();
		expect(fourth.children).toEqual(second.children);
		const sleep = { condition: { timeoutOnly: true }, timeoutMs: 10, timeoutBehavior: "resume" } as const;
		await scene.backend.leases.suspend(fourth.id, { fence: fourth.fence, reason: "step_boundary", ...sleep });
		await scene.clock.advance(20);
		expect((await scene.take()).children).toBeUndefined();
	});

	test("a parent may wait again, for others", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 1);
		await end(scene);
		await wait(scene, held);
		const second = await scene.take();
		const [more = ""] = idsOf(await add(scene, second, { key: "more" }));
		expect(await wait(scene, second)).toEqual({ publicState: "waiting_children" });
		await end(scene, { result: 2 });
		const third = await scene.take();
		expect(third.children?.map(({ key }) => key)).toEqual(["c0", "more"]);
		expect(await wait(scene, third, { ids: [more] })).toEqual({ publicState: "waiting" });
		expect((await scene.take()).children).toMatchObject([{ key: "more", result: 2 }]);
	});

	test("results are inside the claim up to 1 MiB together, of the rest the size is told", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 3);
		const large = "x".repeat(700 * 1024);
		await end(scene, { result: large });
		await end(scene, { result: large });
		await end(scene, { result: "small" });
		await wait(scene, held);
		const { children = [] } = await scene.take();
		expect(children[0]?.result).toBe(large);
		expect(children[1]).toMatchObject({ size: large.length + 2, publicState: "completed" });
		expect(children[1]).not.toHaveProperty("result");
		expect(children[2]?.result).toBe("small");
	});

	test("an awaited child that is replayed is awaited again", async (scene) => {
		const held = await parent(scene);
		const [first = ""] = idsOf(await add(scene, held, {}, { lane: "other" }));
		await wait(scene, held);
		await end(scene, { result: "first" });
		await scene.backend.executions.replay(first);
		const other = await scene.take({ lanes: ["other"] });
		await scene.backend.leases.complete(other.id, { fence: other.fence });
		expect(await stateOf(scene, held.id)).toBe("waiting_children");
		await end(scene, { result: "second" });
		expect((await scene.take()).children).toMatchObject([{ result: "second" }, { publicState: "completed" }]);
	});

	test("after the parent went on, a replay of a child changes nothing", async (scene) => {
		const held = await parent(scene);
		const ids = await addIds(scene, held, 2);
		await wait(scene, held);
		await end(scene, { result: "first" });
		await end(scene, { reason: "no" });
		for (const id of ids) await scene.backend.executions.replay(id);
		await end(scene, { result: "second" });
		const again = await scene.take();
		expect(again.children).toMatchObject([
			{ publicState: "completed", result: "first" },
			{ publicState: "failed", failure: { reason: "no" } },
		]);
		// But who waits once more waits for what there is now.
		expect(await wait(scene, again)).toEqual({ publicState: "waiting_children" });
		await end(scene, { result: "third" });
		expect((await scene.take()).children?.map(({ result }) => result)).toEqual(["second", "third"]);
	});

	test("a child that was removed since is told of as it ended", async (scene) => {
		const held = await parent(scene);
		const [id = ""] = await addIds(scene, held, 2);
		await wait(scene, held);
		await end(scene, { result: 1 });
		await scene.backend.executions.delete(id);
		await end(scene, { result: 2 });
		const [gone, there] = (await scene.take()).children ?? [];
		expect(gone).toEqual({ key: "c0", executionId: id, publicState: "completed" });
		expect(there?.result).toBe(2);
	});

	test("children that are cancelled or expire end a wait as well", async (scene) => {
		const held = await parent(scene);
		const ids = await addIds(scene, held, 2, { policy: { timeouts: { queueMs: 1000 } } });
		await wait(scene, held);
		await scene.backend.executions.cancel(ids[0] ?? "", { reason: "enough" });
		await scene.clock.advance(1001);
		const again = await scene.take();
		expect(again.children?.map(({ publicState }) => publicState)).toEqual(["cancelled", "expired"]);
	});

	test("a retry of a child is no end", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 1, { policy: { retry: { backoff: { type: "fixed", delayMs: 100 } } } });
		await wait(scene, held, { mode: "any" });
		await end(scene, { reason: "again" });
		expect(await stateOf(scene, held.id)).toBe("waiting_children");
		await scene.clock.advance(100);
		await end(scene);
		expect(await stateOf(scene, held.id)).toBe("waiting");
	});

	test("a parent that waits can be cancelled, and ends at once", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 1);
		await wait(scene, held);
		expect(await scene.backend.executions.cancel(held.id)).toEqual({ publicState: "cancelled" });
		expect(await scene.backend.executions.attempts(held.id)).toMatchObject([{ state: "ended_cancelled" }]);
	});

	test("a parent that was asked to stop ends when it would wait", async (scene) => {
		const held = await parent(scene);
		const [id = ""] = await addIds(scene, held, 1);
		await scene.backend.executions.cancel(held.id, { reason: "enough" });
		expect(await wait(scene, held)).toEqual({ publicState: "cancelled" });
		expect(await scene.get(held.id)).toMatchObject({ publicState: "cancelled", cancel: { reason: "enough" } });
		await scene.clock.settle();
		expect(await stateOf(scene, id)).toBe("cancelled");
	});

	test("a deadline runs while it waits, a queue timeout does not", async (scene) => {
		const held = await parent(scene, { policy: { timeouts: { queueMs: 1000, deadlineMs: 10_000 } } });
		await addIds(scene, held, 1);
		await wait(scene, held);
		await scene.clock.advance(5000);
		expect(await stateOf(scene, held.id)).toBe("waiting_children");
		await scene.clock.advance(5000);
		expect(await stateOf(scene, held.id)).toBe("expired");
	});

	test("a quota's slot is given back while its holder waits", async (scene) => {
		await scene.backend.quotas.create({ id: "q", concurrency: 1 });
		const held = await parent(scene, { quotas: ["q"] });
		const [id] = await addIds(scene, held, 1);
		await wait(scene, held);
		await scene.clock.settle();
		expect((await scene.take({ lanes: [KIDS] })).id).toBe(id);
	});

	test("why it does not go on is explained, with those that are not done", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 13);
		await end(scene);
		await scene.take({ lanes: [KIDS] });
		await wait(scene, held);
		const { reasons, summary } = await scene.backend.executions.explain(held.id);
		expect(summary).toBe("waiting for all of 13 children");
		expect(reasons[1]).toMatch(/^not done yet: c1 \(active\), c2 \(waiting\), .* c10 \(waiting\) and 2 more$/);
	});

	test("what happens is told in the history of the parent", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 1);
		await wait(scene, held, { mode: "any" });
		await end(scene);
		expect((await scene.events(held.id)).slice(2)).toMatchObject([
			{ type: "blocked", reason: "waiting_for_children", mode: "any", children: 1, epoch: 1 },
			{ type: "eligible" },
		]);
	});
}

export function parentEndCases(test: PublicCase): void {
	test("when a parent ends, its children are cancelled, but for those that are to be left", async (scene) => {
		const held = await parent(scene);
		const [a = "", b = "", c = ""] = idsOf(
			await add(scene, held, { onParentEnd: "cancel" }, { onParentEnd: "leave" }, { delayMs: 1000 }),
		);
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.clock.settle();
		expect(await scene.get(a)).toMatchObject({
			publicState: "cancelled",
			cancel: { source: "flow", reason: "its parent has ended" },
		});
		expect([await stateOf(scene, b), await stateOf(scene, c)]).toEqual(["waiting", "cancelled"]);
		expect(await end(scene)).toBe(b);
		expect(await scene.get(b)).toMatchObject({ publicState: "completed", parentId: held.id });
	});

	test("however it ends", async (scene) => {
		const ends: ((held: Held) => Promise<unknown>)[] = [
			({ id, fence }) => scene.backend.leases.fail(id, { fence, reason: "no" }),
			({ id }) => scene.backend.executions.cancel(id, { mode: "force" }),
			({ id, fence }) => scene.backend.executions.cancel(id, { fence }),
			() => scene.clock.advance(20_000),
		];
		for (const endIt of ends) {
			const held = await parent(scene, { policy: { timeouts: { deadlineMs: 20_000 } } });
			const [id = ""] = await addIds(scene, held, 1);
			await endIt(held);
			await scene.clock.settle();
			expect((await scene.get(held.id)).state.lifecyclePhase).toBe("terminal");
			expect(await stateOf(scene, id)).toBe("cancelled");
		}
	});

	test("a child that runs is asked to stop, and may still complete", async (scene) => {
		const held = await parent(scene);
		const ids = await addIds(scene, held, 2);
		const one = await scene.take({ lanes: [KIDS] });
		await scene.take({ lanes: [KIDS] });
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.clock.settle();
		expect(await scene.get(one.id)).toMatchObject({ publicState: "active", cancel: { source: "flow" } });
		await scene.backend.leases.complete(one.id, { fence: one.fence });
		await scene.clock.advance(30_001);
		expect(await Promise.all(ids.map((id) => stateOf(scene, id)))).toEqual(["completed", "cancelled"]);
	});

	test("children of children go with them", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 1);
		const child = await scene.take({ lanes: [KIDS] });
		const [grandchild = ""] = await addIds(scene, child, 1, { lane: "far" });
		await wait(scene, child);
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.clock.settle();
		expect([await stateOf(scene, child.id), await stateOf(scene, grandchild)]).toEqual(["cancelled", "cancelled"]);
	});

	test("more children than one step cancels are all cancelled", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 200);
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.clock.settle();
		const { executions } = await scene.backend.executions.list({ parentId: held.id, state: "cancelled", limit: 1000 });
		expect(executions).toHaveLength(200);
	});

	test("a retry of the parent is no end", async (scene) => {
		const held = await parent(scene, { policy: { retry: { backoff: { type: "fixed", delayMs: 100 } } } });
		const [id = ""] = await addIds(scene, held, 1);
		await scene.backend.leases.fail(held.id, { fence: held.fence, reason: "again" });
		await scene.clock.advance(100);
		expect(await stateOf(scene, id)).toBe("waiting");
		expect(await add(scene, await scene.take(), { key: "c0" })).toMatchObject([{ id, created: false }]);
	});

	test("a replay begins without children; with keepSteps they keep their keys", async (scene) => {
		const held = await parent(scene);
		const [id] = await addIds(scene, held, 1);
		await end(scene, { result: 1 });
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.backend.executions.replay(held.id, { keepSteps: true });
		const second = await scene.take();
		expect(await add(scene, second, { key: "c0" })).toMatchObject([{ id, created: false }]);
		await scene.backend.leases.complete(second.id, { fence: second.fence });
		await scene.backend.executions.replay(held.id);
		const third = await scene.take();
		expect(third.children).toBeUndefined();
		expect(await wait(scene, third)).toEqual({ publicState: "waiting" });
		const fourth = await scene.take();
		expect(fourth.children).toEqual([]);
		const [anew] = await add(scene, fourth, { key: "c0" });
		expect(anew).toMatchObject({ created: true });
		expect(anew?.id).not.toBe(id);
		expect(await wait(scene, fourth)).toEqual({ publicState: "waiting_children" });
		await end(scene, { result: 2 });
		expect((await scene.take()).children).toMatchObject([{ executionId: anew?.id, result: 2 }]);
	});

	test("a parent can be removed, and its children keep their own retention", async (scene) => {
		const held = await parent(scene, { policy: { retentionMs: 1000 } });
		const [id = "", left = ""] = idsOf(
			await add(scene, held, { policy: { retentionMs: 60_000 } }, { onParentEnd: "leave" }),
		);
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.clock.advance(2000);
		expect((await refusal(scene.get(held.id))).code).toBe("execution_not_found");
		expect(await scene.get(id)).toMatchObject({ publicState: "cancelled", parentId: held.id });
		expect(await end(scene)).toBe(left);
		await scene.clock.advance(60_000);
		expect((await refusal(scene.get(id))).code).toBe("execution_not_found");
		expect((await scene.backend.executions.list({ parentId: held.id })).executions.map((each) => each.id)).toEqual([
			left,
		]);
	});

	test("a parent that is deleted at once leaves no child running", async (scene) => {
		const held = await parent(scene);
		await addIds(scene, held, 150);
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.backend.executions.delete(held.id);
		await scene.clock.settle();
		const { executions } = await scene.backend.executions.list({ parentId: held.id, limit: 1000 });
		expect(new Set(executions.map(({ publicState }) => publicState))).toEqual(new Set(["cancelled"]));
		expect(executions).toHaveLength(150);
	});
}
