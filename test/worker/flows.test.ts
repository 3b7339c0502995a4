import { expect, expectTypeOf, onTestFinished, test } from "vitest";
import { FlowFabric, type FlowRun, type Run } from "../../src/index.ts";

type Kinds = {
	fetch: { input: { url: string }; result: { text: string } };
	join: { input: undefined; result: string };
	bytes: { input: Uint8Array; result: Uint8Array };
};

async function stage(): Promise<FlowFabric<Kinds>> {
	const ff = await FlowFabric.open<Kinds>("memory:");
	onTestFinished(() => ff.close());
	return ff;
}

test("a flow is written down, started, waited for and looked at; results arrive under the keys of their nodes", async () => {
	const ff = await stage();
	const worker = ff.worker({ handleSignals: false });
	worker.handle("fetch", (_ctx, { url }) => ({ text: `page of ${url}` }));
	worker.handle("join", (ctx) => {
		expect(ctx.execution.flowId).toBe(run.id);
		return Object.entries(ctx.parents)
			.map(([name, { publicState, result }]) => `${name} ${publicState}: ${(result as { text: string }).text}`)
			.join(", ");
	});
	const run = await ff
		.flow("pages", { tags: { team: "a" } })
		.node("one", "fetch", { url: "1" })
		.node("two", "fetch", { url: "2" })
		.node("all", "join", undefined, { after: ["one", { node: "two", on: "completion", passResultAs: "second" }] })
		.start();
	await worker.start();
	expect(await run.wait()).toMatchObject({ state: "completed", kind: "pages", tags: { team: "a" } });
	expect(await run.run("all").result()).toBe("one completed: page of 1, second completed: page of 2");
	const { nodes, edges } = await run.graph();
	expect(nodes.map(({ key }) => key)).toEqual(["one", "two", "all"]);
	expect(edges).toMatchObject([
		{ from: "one", to: "all", on: "success", passResultAs: "one", state: "satisfied" },
		{ from: "two", to: "all", on: "completion", passResultAs: "second", state: "satisfied" },
	]);
	const types: string[] = [];
	for await (const { type } of run.events()) types.push(type);
	expect(types.at(0)).toBe("flow_created");
	expect(types.at(-1)).toBe("flow_ended");
	expect(() => run.run("three")).toThrow(expect.objectContaining({ code: "unknown_node" }));
	expectTypeOf(run).toEqualTypeOf<FlowRun>();
	expectTypeOf(run.run<string>("all")).toEqualTypeOf<Run<string>>();
	const wrong = () => {
		// @ts-expect-error: not the input of this kind
		ff.flow().node("a", "fetch", { page: 1 });
		// @ts-expect-error: there is no such kind
		ff.flow().node("a", "nothing");
	};
	expect(wrong).toBeTypeOf("function");
});

test("a draft is plain JSON, and plain JSON is a flow", async () => {
	const ff = await stage();
	const draft = ff
		.flow("race")
		.node("a", "bytes", Uint8Array.of(1, 2, 3), { lane: "gpu" })
		.node("b", "fetch", { url: "b" })
		.node("first", "join", undefined, {
			after: ["a", "b"],
			group: { policy: "any_of", onSatisfied: "cancel_remaining" },
		})
		.node("last", "join", undefined, { after: [{ node: "first" }], group: "all_of", priority: 3 });
	const plain = JSON.parse(JSON.stringify(draft));
	expect(plain).toEqual({
		kind: "race",
		nodes: [
			{ key: "a", kind: "bytes", inputBase64: "AQID", lane: "gpu" },
			{ key: "b", kind: "fetch", input: { url: "b" } },
			{ key: "first", kind: "join" },
			{ key: "last", kind: "join", priority: 3 },
		],
		edges: [
			{ from: "a", to: "first", passResultAs: "a" },
			{ from: "b", to: "first", passResultAs: "b" },
			{ from: "first", to: "last" },
		],
		groups: [
			{ node: "first", policy: "any_of", onSatisfied: "cancel_remaining" },
			{ node: "last", policy: "all_of" },
		],
	});
	const run = await ff.submitFlow(plain);
	expect(Object.keys(run.nodes)).toEqual(["a", "b", "first", "last"]);
	expect(await run.cancel({}, { wait: true })).toMatchObject({ status: "cancelled", policy: "cancel_all" });
	expect((await run.run("last").get()).publicState).toBe("cancelled");
});

test("results that are too large to come along are loaded when they are wanted", async () => {
	const ff = await stage();
	const worker = ff.worker({ handleSignals: false });
	const text = "x".repeat(700_000);
	worker.handle("fetch", () => ({ text }));
	worker.handle("bytes", (_ctx, input) => input);
	worker.handle("join", async ({ parents }) => {
		const names = Object.keys(parents).filter((name) => parents[name]?.result !== undefined);
		const loaded = (await Promise.all(["a", "b"].map((name) => parents[name]?.load()))) as { text: string }[];
		expect(loaded.map((each) => each.text.length)).toEqual([text.length, text.length]);
		expect(await parents.raw?.load()).toEqual(Uint8Array.of(7));
		expect(parents.raw?.result).toEqual(Uint8Array.of(7));
		return names.join();
	});
	const run = await ff
		.flow()
		.node("raw", "bytes", Uint8Array.of(7))
		.node("a", "fetch", { url: "a" })
		.node("b", "fetch", { url: "b" })
		.node("both", "join", undefined, { after: ["raw", "a", "b"] })
		.start();
	await worker.start();
	expect(await run.run("both").result()).toBe("raw,a");
});

test("a bad flow is refused with the place that is wrong", async () => {
	const ff = await stage();
	const flow = ff.flow().node("a", "fetch", { url: "a" }, { after: ["b"] });
	await expect(flow.start()).rejects.toMatchObject({ code: "unknown_node", details: { field: "edges[0].from" } });
	// Whoever it waits for may be added later.
	expect((await flow.node("b", "fetch", { url: "b" }).start()).created).toBe(true);
});
