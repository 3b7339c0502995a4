import { afterEach, beforeEach, expect, it } from "vitest";
import type { CreateFlowRequest } from "../../src/contract/flows.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { openBackend } from "../../src/library/open.ts";

/** How many of other callers' reads must be answered while 60,000 edges are looked at: one for every 2000, at the least. */
const ANSWERS = 30;
const EDGES = 60_000;
const NODES = 2000;

let backend: LocalBackend;

beforeEach(async () => {
	backend = await openBackend("memory:", {});
});

afterEach(() => backend.close());

const nodes = Array.from({ length: NODES }, (_, n) => ({ key: `n${n}`, kind: "job" }));

/** Each node leads to the ones behind it. */
function edges(): { from: string; to: string }[] {
	const all: { from: string; to: string }[] = [];
	for (let gap = 1; all.length < EDGES; gap++)
		for (let n = 0; n + gap < NODES && all.length < EDGES; n++) all.push({ from: `n${n}`, to: `n${n + gap}` });
	return all;
}

/** Makes a flow, and reads something else again and again until that is answered; tells how often. */
async function beside(request: object): Promise<{ answers: number; error?: { code: string; details: object } }> {
	const { id } = await backend.executions.create({ kind: "job" });
	let isOver = false;
	const making = backend.flows.create(request as CreateFlowRequest).then(
		() => undefined,
		(error) => error as { code: string; details: object },
	);
	void making.then(() => (isOver = true));
	let answers = 0;
	while (!isOver) {
		await backend.executions.get(id);
		answers += 1;
		await new Promise(setImmediate);
	}
	const error = await making;
	return { answers, ...(error ? { error } : undefined) };
}

it("others are answered while a flow of 60,000 edges is checked and put in order", async () => {
	const circle = [...edges(), { from: `n${NODES - 1}`, to: "n0" }];
	const { answers, error } = await beside({ nodes, edges: circle });
	expect(error?.code).toBe("cycle_detected");
	expect(answers).toBeGreaterThan(ANSWERS);
});

it("others are answered while it is hashed, planned and written, and it is the same flow under its key", async () => {
	const flow = { nodes, edges: edges(), idempotencyKey: "wide" };
	const { answers, error } = await beside(flow);
	expect(error).toBeUndefined();
	expect(answers).toBeGreaterThan(ANSWERS);
	expect(await backend.flows.create(flow)).toMatchObject({ created: false });
	const [first, ...rest] = flow.edges;
	const other = backend.flows.create({ ...flow, edges: [...rest, { ...first, on: "failure" } as never] });
	await expect(other).rejects.toMatchObject({ code: "idempotency_conflict" });
});

it("an edge that is wrong is named by its place among all", async () => {
	const wrong = [...edges(), { from: "n1", to: 7 }];
	const { error } = await beside({ nodes, edges: wrong });
	expect(error).toMatchObject({ code: "invalid_input", details: { field: `edges[${EDGES}].to` } });
});

it("a bad node among many is refused by its place, and takes nobody down", async () => {
	const unheard: unknown[] = [];
	const hear = (reason: unknown) => unheard.push(reason);
	process.on("unhandledRejection", hear);
	const { error } = await beside({ nodes: [[], ...nodes], edges: [] });
	process.off("unhandledRejection", hear);
	expect(error).toMatchObject({ code: "invalid_input", details: { field: "nodes[0]" } });
	expect(unheard).toEqual([]);
});
