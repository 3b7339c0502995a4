import type { CreateFlowRequest } from "../../src/contract/flows.ts";
import type { FlowFabric } from "../../src/index.ts";
import { payload } from "../target.ts";
import { CONCURRENCY, SUBMITTERS } from "./lifecycle.ts";

/** Executions per second. */
export async function chains(ff: FlowFabric, flows: number, length: number): Promise<number> {
	const nodes = (n: number) =>
		Array.from({ length }, (_, place) => ({ key: `n${place}`, kind: "noop", input: payload(n) }));
	const edges = Array.from({ length: length - 1 }, (_, place) => ({ from: `n${place}`, to: `n${place + 1}` }));
	const requests = Array.from({ length: flows }, (_, n) => ({ nodes: nodes(n), edges }));
	return perSecond(ff, flows * length, () => createAll(ff, requests));
}

/** One, then many, then one: executions per second. */
export function fan(ff: FlowFabric, width: number): Promise<number> {
	const middle = Array.from({ length: width }, (_, n) => ({ key: `m${n}`, kind: "noop", input: payload(n) }));
	const nodes = [{ key: "first", kind: "noop" }, ...middle, { key: "last", kind: "noop" }];
	const edges = middle.flatMap(({ key }) => [
		{ from: "first", to: key },
		{ from: key, to: "last" },
	]);
	return perSecond(ff, nodes.length, () => createAll(ff, [{ nodes, edges }]));
}

/** One of many is enough: milliseconds until each of the others has ended, per sibling. */
export async function quorum(ff: FlowFabric, width: number): Promise<number> {
	const siblings = Array.from({ length: width }, (_, n) => ({
		key: `s${n}`,
		kind: n === 0 ? "noop" : "never",
	}));
	const { id } = await ff.backend.flows.create({
		nodes: [...siblings, { key: "last", kind: "never" }],
		edges: siblings.map(({ key }) => ({ from: key, to: "last" })),
		groups: [{ node: "last", policy: { quorum: 1 }, onSatisfied: "cancel_remaining" }],
	});
	const startedAt = performance.now();
	const stop = await work(ff, 1);
	for (;;) {
		const { counts } = await ff.backend.flows.wait(id, { timeoutMs: 5 });
		if ((counts.cancelled ?? 0) === width - 1) break;
	}
	const took = performance.now() - startedAt;
	await stop();
	await ff.backend.flows.cancel(id, { policy: "cancel_all", mode: "force" }, { wait: true });
	return took / (width - 1);
}

async function createAll(ff: FlowFabric, requests: readonly CreateFlowRequest[]): Promise<void> {
	let next = 0;
	const creator = async () => {
		for (let n = next++; n < requests.length; n = next++)
			await ff.backend.flows.create(requests[n] as CreateFlowRequest);
	};
	await Promise.all(Array.from({ length: SUBMITTERS }, creator));
}

/** How fast so much work is done, from its creation to the end of the last handler's outcome. */
async function perSecond(ff: FlowFabric, count: number, create: () => Promise<void>): Promise<number> {
	const startedAt = performance.now();
	const stop = await work(ff, count);
	await create();
	await stop();
	return count / ((performance.now() - startedAt) / 1000);
}

/** A worker of no-op handlers; the returned function waits until so many have run, and their outcomes are committed. */
async function work(ff: FlowFabric, count: number): Promise<() => Promise<void>> {
	let done = 0;
	let finish = () => {};
	const finished = new Promise<void>((resolve) => (finish = resolve));
	const worker = ff.worker({ concurrency: CONCURRENCY, handleSignals: false });
	worker.handle("noop", async () => {
		if (++done === count) finish();
		return { ok: true };
	});
	await worker.start();
	return async () => {
		await finished;
		await worker.stop();
	};
}
