import { expect, test, vi } from "vitest";
import type { ClaimedExecution } from "../../src/contract/replies.ts";
import { Stand, until } from "./stand.ts";

const MIB = 1024 * 1024;
/** JSON writes it in six characters. */
const NUL = "\u0000";
const who = { workerId: "w", instanceId: "i" };

const fenceOf = ({ lease }: ClaimedExecution) => ({ leaseId: lease.id, epoch: lease.epoch });

async function taken({ backend }: Stand, kind: string): Promise<ClaimedExecution> {
	const [execution] = await backend.leases.claim({ ...who, kinds: [kind] });
	if (!execution) throw new Error(`no ${kind}`);
	return execution;
}

/** Parents that may go on, each with a child that returned so many NULs. */
async function joinedParents(stand: Stand, count: number, chars: number): Promise<void> {
	const { leases, executions } = stand.backend;
	for (let n = 0; n < count; n++) {
		await executions.create({ kind: `first${n}` });
		const parent = await taken(stand, `first${n}`);
		await leases.addChildren(parent.id, { fence: fenceOf(parent), items: [{ key: "c", kind: "child" }] });
		await leases.waitChildren(parent.id, { fence: fenceOf(parent), mode: "all" });
		const child = await taken(stand, "child");
		await leases.complete(child.id, {
			fence: fenceOf(child),
			resultBase64: Buffer.alloc(chars).toString("base64"),
			contentType: "text/plain",
		});
	}
}

test("what an answer to a claim has no room for goes back at once, is no reclaim, and comes with the next", async () => {
	const stand = await Stand.open();
	await joinedParents(stand, 3, 900 * 1024);
	const seen = new Set<string>();
	for (let calls = 0; calls < 3; calls++) {
		const { status, text, json } = await stand.call("POST", "/v1/claims", { body: { ...who, max: 256 } });
		expect(status).toBe(200);
		expect(text.length).toBeLessThan(8 * MIB);
		expect(json.executions).toHaveLength(1);
		const [{ id, children }] = json.executions;
		expect(children[0].result).toBe(NUL.repeat(900 * 1024));
		seen.add(id);
		const held = async () => (await stand.backend.executions.list({ state: "active" })).executions;
		await until(async () => (await held()).length === calls + 1);
	}
	expect(seen.size).toBe(3);
	for (const id of seen) expect(await stand.backend.executions.get(id)).toMatchObject({ reclaims: 0 });
});

test("results of children and signals count among what a claim may bring", async () => {
	const stand = await Stand.open();
	const { leases, executions, waitpoints } = stand.backend;
	await joinedParents(stand, 6, MIB);
	expect(await leases.claim({ ...who, max: 256 })).toHaveLength(4);

	for (let n = 0; n < 8; n++) {
		await executions.create({ kind: `signalled${n}` });
		const { id, ...rest } = await taken(stand, `signalled${n}`);
		const fence = fenceOf({ id, ...rest });
		const condition = { count: { n: 4, distinctBy: "signal" as const } };
		const terms = { fence, reason: "waiting_for_signal" as const, condition, waitpoints: [{ key: "w" }] };
		const [waitpoint] = (await leases.suspend(id, terms)).waitpoints;
		for (let k = 0; k < 4; k++) {
			const payloadBase64 = Buffer.alloc(180 * 1024).toString("base64");
			const { id: waitpointId = "", token = "" } = waitpoint ?? {};
			await waitpoints.signal(id, { waitpointId, token, name: `n${k}`, payloadBase64, contentType: "text/plain" });
		}
	}
	const kinds = Array.from({ length: 8 }, (_, n) => `signalled${n}`);
	const claimed = await leases.claim({ ...who, kinds, max: 256 });
	expect(claimed).toHaveLength(6);
	expect(claimed[0]?.signals).toHaveLength(4);
});

test("failures of many upstreams are told as far as there is room, and count among what a claim may bring", async () => {
	const stand = await Stand.open();
	const { flows, leases } = stand.backend;
	const upstreams = Array.from({ length: 40 }, (_, n) => `u${n}`);
	const downstreams = Array.from({ length: 20 }, (_, n) => `d${n}`);
	await flows.create({
		nodes: [...upstreams.map((key) => ({ key, kind: "bad" })), ...downstreams.map((key) => ({ key, kind: "after" }))],
		edges: downstreams.flatMap((to) =>
			upstreams.map((from) => ({ from, to, on: "failure" as const, passResultAs: from })),
		),
	});
	for (const execution of await leases.claim({ ...who, kinds: ["bad"], max: 256 }))
		await leases.fail(execution.id, { fence: fenceOf(execution), reason: NUL.repeat(2048) });
	const first = await leases.claim({ ...who, kinds: ["after"], max: 256 });
	expect(first.length).toBeGreaterThan(0);
	expect(first.length).toBeLessThan(16);
	const parents = Object.values(first[0]?.parents ?? {});
	expect(parents).toHaveLength(40);
	expect(parents.every(({ publicState, executionId }) => publicState === "failed" && executionId)).toBe(true);
	expect(parents[0]?.failure).toEqual({ reason: NUL.repeat(2048), category: "error" });
	expect(JSON.stringify(parents).length).toBeLessThan(300 * 1024);
	expect(parents.at(-1)?.failure).toBeUndefined();
});

test("an answer that cannot be written hands back every lease of its call", async () => {
	const stand = await Stand.open();
	const { leases, executions } = stand.backend;
	const { id } = await executions.create({ kind: "job" });
	const calls = Object.getPrototypeOf(leases) as typeof leases;
	const { claim } = calls;
	const spy = vi.spyOn(calls, "claim").mockImplementation(async function (this: typeof leases, ...given) {
		const claimed = await claim.apply(this, given);
		return claimed.map((execution) => ({ ...execution, input: 1n }));
	});
	const { status } = await stand.call("POST", "/v1/claims", { body: who });
	spy.mockRestore();
	expect(status).toBe(500);
	await until(async () => (await executions.get(id)).lease === undefined);
	expect(await executions.get(id)).toMatchObject({ publicState: "waiting", reclaims: 0 });
});
