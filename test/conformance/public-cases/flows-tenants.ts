import { expect } from "vitest";
import type { Calls } from "../../../src/index.ts";
import { drawn } from "../flow-work.ts";
import { type PublicCase, refusal } from "../scene.ts";

const worker = { workerId: "w", instanceId: "w-1" };

/** Every call about one flow. */
const callsById: Record<string, (calls: Calls, id: string) => Promise<unknown>> = {
	get: ({ flows }, id) => flows.get(id),
	wait: ({ flows }, id) => flows.wait(id, { timeoutMs: 0 }),
	events: ({ flows }, id) => flows.events(id),
	addMember: ({ flows }, id) => flows.addMember(id, { key: "x", kind: "x" }),
	"addMember of a known node": ({ flows }, id) => flows.addMember(id, { key: "a", kind: "a" }),
	addEdge: ({ flows }, id) => flows.addEdge(id, { from: "a", to: "b", expectedRevision: 1 }),
	setGroup: ({ flows }, id) => flows.setGroup(id, "a", { policy: "any_of" }),
	seal: ({ flows }, id) => flows.seal(id),
	cancel: ({ flows }, id) => flows.cancel(id, { policy: "cancel_all" }),
	"awaited cancel": ({ flows }, id) => flows.cancel(id, { policy: "cancel_all" }, { wait: true }),
	delete: ({ flows }, id) => flows.delete(id),
};

/** Flows of callers that are bound to a namespace. */
export function flowTenantCases(test: PublicCase): void {
	test("a bound caller works with flows of its own namespace without naming it", async (scene) => {
		const a = scene.as({ actor: "ada", namespace: "a" });
		const { id, nodes } = await a.flows.create({ ...drawn({ nodes: ["a", "b"] }), sealed: false });
		expect(await a.flows.get(id)).toMatchObject({ namespace: "a", createdBy: "ada" });
		expect(await a.executions.get(nodes.a ?? "")).toMatchObject({ namespace: "a", flowId: id, createdBy: "ada" });
		await a.flows.addMember(id, { key: "c", kind: "c" });
		await a.flows.addEdge(id, { from: "a", to: "c", expectedRevision: 2 });
		await a.flows.setGroup(id, "c", { policy: "any_of" });
		await a.flows.seal(id);
		expect((await a.flows.list()).flows.map((flow) => flow.id)).toEqual([id]);
		expect((await a.executions.list({ flowId: id })).executions).toHaveLength(3);
		expect(await a.leases.claim({ ...worker, max: 5 })).toHaveLength(2);
		await a.flows.cancel(id, { policy: "cancel_all", mode: "force" });
		await scene.clock.settle();
		expect((await a.flows.events(id)).events.at(-1)).toMatchObject({ type: "flow_ended" });
		expect(await a.flows.delete(id)).toEqual({ deleted: true });
	});

	test("a flow of another namespace is not there, whatever is asked of it", async (scene) => {
		const a = scene.as({ actor: "ada", namespace: "a" });
		const b = scene.as({ actor: "bob", namespace: "b" });
		const { id } = await a.flows.create({ ...drawn({ nodes: ["a", "b"] }), sealed: false });
		const before = [await a.flows.get(id), await a.flows.events(id)];
		for (const [name, call] of Object.entries(callsById)) {
			const foreign = await refusal(call(b, id));
			const unknownId = `fl_${"0".repeat(32)}_${id.slice(id.lastIndexOf("_") + 1)}`;
			const unknown = await refusal(call(b, unknownId));
			expect([name, foreign.code, foreign.message]).toEqual([name, "flow_not_found", unknown.message]);
			expect(Object.keys(foreign.details ?? {})).toEqual(Object.keys(unknown.details ?? {}));
		}
		expect(await b.flows.list()).toEqual({ flows: [] });
		expect(await b.executions.list({ flowId: id })).toEqual({ executions: [] });
		expect(await b.leases.claim({ ...worker, max: 5 })).toEqual([]);
		expect([await a.flows.get(id), await a.flows.events(id)]).toEqual(before);
	});

	test("a bound caller makes nothing elsewhere", async (scene) => {
		const a = scene.as({ actor: "ada", namespace: "a" });
		const elsewhere = await refusal(a.flows.create(drawn({ namespace: "b", nodes: ["a"] })));
		expect(elsewhere.code).toBe("forbidden");
		const node = await refusal(a.flows.create(drawn({ nodes: [{ key: "a", namespace: "b" }] })));
		expect(node).toMatchObject({ code: "invalid_input", details: { field: "nodes[0].namespace" } });
		expect((await refusal(a.flows.list({ namespace: "b" }))).code).toBe("forbidden");
		expect(await scene.backend.flows.list({ namespace: "b" })).toEqual({ flows: [] });
	});

	test("a flow takes the budgets of its own namespace only", async (scene) => {
		await scene.backend.budgets.create({ id: "team", namespace: "b", dimensions: { tokens: { hard: 1 } } });
		const a = scene.as({ actor: "ada", namespace: "a" });
		const error = await refusal(a.flows.create(drawn({ budgets: ["team"], nodes: ["a"] })));
		expect(error.code).toBe("budget_not_found");
	});

	test("keys of flows and nodes are their namespace's own", async (scene) => {
		const a = scene.as({ actor: "ada", namespace: "a" });
		const b = scene.as({ actor: "bob", namespace: "b" });
		const given = drawn({ idempotencyKey: "k", nodes: [{ key: "a", idempotencyKey: "n" }] });
		const [one, other] = [await a.flows.create(given), await b.flows.create(given)];
		expect(other).toMatchObject({ created: true });
		expect(other.id).not.toBe(one.id);
	});
}
