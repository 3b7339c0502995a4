import { expect } from "vitest";
import { type ChildOutcome, type Context, HandlerSuspended } from "../../../src/index.ts";
import { stepsOf, submitted, tried, withWorker } from "../handler-stage.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const MIB = 1024 * 1024;

/** Parents have no input; what a child is to do is its input. */
type Work = { result: unknown } | { size: number } | { fail: string } | { wait: string } | undefined;

type Parent = (ctx: Context<Work>) => unknown;

/** Runs parents as told, and children as their input says. */
const family = (parent: Parent) => async (ctx: Context<Work>, work: Work) => {
	if (work === undefined) return parent(ctx);
	if ("fail" in work) throw new Error(work.fail);
	if ("size" in work) return "x".repeat(work.size);
	if ("wait" in work) return (await ctx.waitForSignal(work.wait)).payload;
	return work.result;
};

const brief = (outcomes: ChildOutcome[]) =>
	outcomes.map(({ key, publicState, result }) => [key, publicState, ...(result === undefined ? [] : [result])]);

const childrenOf = async (scene: Scene, parentId: string) =>
	(await scene.backend.executions.list({ parentId, limit: 1000 })).executions;

async function resultOf(scene: Scene, id: string): Promise<unknown> {
	await scene.clock.settle();
	return scene.ff.result(id);
}

/** Sends what a child waits for. */
async function answer(scene: Scene, id: string, name: string) {
	await scene.backend.waitpoints.approve(id, { name });
	await scene.clock.settle();
}

export function handlerChildrenCases(test: PublicCase): void {
	test("a handler submits children, waits without a lease, and is given what came of them", async (scene) => {
		let runs = 0;
		const parent: Parent = async (ctx) => {
			runs += 1;
			await Promise.all([1, 2, 3].map((n) => ctx.submitChild(`c${n}`, "job", { result: n * n })));
			await ctx.submitChild("bad", "job", { fail: "broken" });
			return { attempt: ctx.attempt.index, children: brief(await ctx.waitForChildren()) };
		};
		await withWorker(scene, family(parent), async ({ log }) => {
			const id = await submitted(scene);
			expect(await resultOf(scene, id)).toEqual({
				attempt: 0,
				children: [
					["c1", "completed", 1],
					["c2", "completed", 4],
					["c3", "completed", 9],
					["bad", "failed"],
				],
			});
			expect(runs).toBe(2);
			expect(await childrenOf(scene, id)).toHaveLength(4);
			expect(log.filter((line) => line.startsWith("warn"))).toEqual([]);
		});
	});

	test("a child's failure and bytes come with it, and the handle says which it is", async (scene) => {
		const handles: unknown[] = [];
		const parent: Parent = async (ctx) => {
			handles.push(await ctx.submitChild("a", "job", { fail: "broken" }));
			handles.push(await ctx.submitChild("b", "job", { result: 1 }, { tags: { team: "x" }, priority: 3 }));
			const [a] = await ctx.waitForChildren({ keys: ["a"] });
			return a;
		};
		await withWorker(scene, family(parent), async () => {
			const id = await submitted(scene);
			const children = await childrenOf(scene, id);
			const [a, b] = [0, 3].map((priority) => children.find((child) => child.priority === priority));
			expect(await resultOf(scene, id)).toEqual({
				key: "a",
				executionId: a?.id,
				publicState: "failed",
				failure: { reason: "broken", category: "error" },
			});
			expect(b).toMatchObject({ tags: { team: "x" }, priority: 3, parentId: id });
			expect(handles).toEqual([
				{ key: "a", id: a?.id, created: true },
				{ key: "b", id: b?.id, created: true },
				{ key: "a", id: a?.id, created: false },
				{ key: "b", id: b?.id, created: false },
			]);
		});
	});

	test("inputs and results may be bytes", async (scene) => {
		const parent: Parent = async (ctx) => {
			await ctx.submitChild("a", "job", new Uint8Array([1, 2]));
			const [a] = await ctx.waitForChildren<Uint8Array>();
			return [a?.result instanceof Uint8Array, ...(a?.result ?? [])];
		};
		const handler = (ctx: Context<Work>, input: unknown) =>
			input instanceof Uint8Array ? new Uint8Array([...input, 3]) : parent(ctx);
		await withWorker(scene, handler, async () => {
			expect(await resultOf(scene, await submitted(scene))).toEqual([true, 1, 2, 3]);
		});
	});

	test("two waits in a row: the first is passed at once by a later run", async (scene) => {
		const seen: unknown[] = [];
		const parent: Parent = async (ctx) => {
			await ctx.submitChild("a", "job", { result: "A" });
			const first = await ctx.waitForChildren();
			await ctx.submitChild("b", "job", { result: "B" });
			const second = await ctx.waitForChildren();
			seen.push(brief(first), brief(second));
			if (ctx.attempt.index === 0) throw new Error("once more");
			return "done";
		};
		await withWorker(scene, family(parent), async () => {
			const id = await submitted(scene, tried());
			expect(await resultOf(scene, id)).toBe("done");
			const a = ["a", "completed", "A"];
			const both = [a, ["b", "completed", "B"]];
			expect(seen).toEqual([[a], both, [a], both]);
			expect((await stepsOf(scene, id)).map(({ name, index }) => [name, index])).toEqual([
				["wait:children", 0],
				["wait:children", 1],
			]);
			expect((await scene.eventTypes(id)).filter((type) => type === "blocked")).toHaveLength(2);
		});
	});

	test("a wait is not answered by what an earlier wait of others was given", async (scene) => {
		const parent: Parent = async (ctx) => {
			await ctx.submitChild("a", "job", { result: "A" });
			await ctx.submitChild("b", "job", { wait: "go" });
			const a = await ctx.waitForChildren({ keys: ["a"] });
			const all = await ctx.waitForChildren();
			return [brief(a), brief(all)];
		};
		await withWorker(scene, family(parent), async () => {
			const id = await submitted(scene);
			await scene.clock.settle();
			expect((await scene.get(id)).publicState).toBe("waiting_children");
			const b = (await childrenOf(scene, id)).find(({ publicState }) => publicState === "suspended");
			await answer(scene, b?.id ?? "", "go");
			const a = ["a", "completed", "A"];
			expect(await resultOf(scene, id)).toEqual([[a], [a, ["b", "completed"]]]);
		});
	});

	test("any and first_success go on before all are done; the others are cancelled with the parent", async (scene) => {
		const parent: Parent = async (ctx) => {
			await ctx.submitChild("bad", "job", { fail: "no" });
			await ctx.submitChild("good", "job", { result: "yes" });
			await ctx.submitChild("slow", "job", { wait: "never" });
			const any = await ctx.waitForChildren({ mode: "any" });
			const first = await ctx.waitForChildren({ mode: "first_success" });
			const good = first.find(({ publicState }) => publicState === "completed");
			return [any.some(({ publicState }) => publicState !== "waiting"), good?.result];
		};
		await withWorker(scene, family(parent), async () => {
			const id = await submitted(scene);
			expect(await resultOf(scene, id)).toEqual([true, "yes"]);
			await scene.clock.settle();
			const states = (await childrenOf(scene, id)).map(({ publicState }) => publicState);
			expect(states.sort()).toEqual(["cancelled", "completed", "failed"]);
		});
	});

	test("a handler that keeps the unwinding from passing is told, and changes nothing", async (scene) => {
		const thrown: unknown[] = [];
		const parent: Parent = async (ctx) => {
			await ctx.submitChild("a", "job", { result: 1 });
			try {
				return brief(await ctx.waitForChildren());
			} catch (error) {
				thrown.push(error);
				await ctx.submitChild("late", "job").catch((late) => thrown.push(late));
				return "kept";
			}
		};
		await withWorker(scene, family(parent), async ({ log }) => {
			const id = await submitted(scene);
			expect(await resultOf(scene, id)).toEqual([["a", "completed", 1]]);
			expect(thrown.every((error) => error instanceof HandlerSuspended)).toBe(true);
			expect(thrown).toHaveLength(2);
			expect(log.some((line) => line.includes("ctx.waitForChildren()"))).toBe(true);
			expect(await childrenOf(scene, id)).toHaveLength(1);
		});
	});

	test("waiting for a child that was not submitted is refused by name, and so is a bad child", async (scene) => {
		const codes: unknown[] = [];
		const parent: Parent = async (ctx) => {
			const { code, details } = await refusal(ctx.waitForChildren({ keys: ["nobody"] }));
			const bad = await refusal(ctx.submitChild("a", "job", 1, { budgets: ["none"] }));
			codes.push(code, details.field, bad.code);
		};
		await withWorker(scene, family(parent), async () => {
			await resultOf(scene, await submitted(scene));
			expect(codes).toEqual(["invalid_input", "keys", "budget_not_found"]);
		});
	});

	test("results too large for one step are recorded all the same", async (scene) => {
		const seen: unknown[] = [];
		const parent: Parent = async (ctx) => {
			await ctx.submitChild("a", "job", { size: 300 * 1024 });
			await ctx.submitChild("b", "job", { size: 600 * 1024 });
			await ctx.submitChild("c", "job", { result: "small" });
			const children = await ctx.waitForChildren<string>();
			seen.push(children.map(({ key, result }) => [key, result?.length]));
			await ctx.waitForSignal("go");
			return "done";
		};
		await withWorker(scene, family(parent), async () => {
			const id = await submitted(scene);
			await scene.clock.settle();
			expect((await scene.get(id)).publicState).toBe("suspended");
			await answer(scene, id, "go");
			expect(await resultOf(scene, id)).toBe("done");
			const all = [
				["a", 300 * 1024],
				["b", 600 * 1024],
				["c", 5],
			];
			expect(seen).toEqual([all, all]);
		});
	});

	test("a result of a mebibyte is recorded, and what goes beyond that together is told of by its size", async (scene) => {
		const seen: unknown[] = [];
		const parent: Parent = async (ctx) => {
			await ctx.submitChild("a", "job", { size: MIB - 2 });
			await ctx.submitChild("b", "job", { size: 10 });
			const children = await ctx.waitForChildren<string>();
			seen.push(children.map(({ key, size, result }) => [key, size, result?.length]));
			await ctx.waitForSignal("go");
		};
		await withWorker(scene, family(parent), async () => {
			const id = await submitted(scene);
			await scene.clock.settle();
			await answer(scene, id, "go");
			await resultOf(scene, id);
			const all = [
				["a", MIB, MIB - 2],
				["b", 12, undefined],
			];
			expect(seen).toEqual([all, all]);
		});
	});

	test("a thousand children at once go out together", async (scene) => {
		const parent: Parent = async (ctx) => {
			await Promise.all(Array.from({ length: 1000 }, (_, n) => ctx.submitChild(`c${n}`, "job", { result: n })));
			const children = await ctx.waitForChildren<number>();
			return children.reduce((sum, { result = 0 }) => sum + result, 0);
		};
		await withWorker(
			scene,
			family(parent),
			async () => {
				expect(await resultOf(scene, await submitted(scene))).toBe(499_500);
			},
			{ concurrency: 100 },
		);
	});

	test("a handler that is cancelled while it waits does not run again", async (scene) => {
		let runs = 0;
		const parent: Parent = async (ctx) => {
			runs += 1;
			await ctx.submitChild("a", "job", { wait: "go" });
			await ctx.waitForChildren();
		};
		await withWorker(scene, family(parent), async () => {
			const id = await submitted(scene);
			await scene.clock.settle();
			await scene.ff.cancel(id);
			await scene.clock.settle();
			const [child] = await childrenOf(scene, id);
			expect([(await scene.get(id)).publicState, child?.publicState, runs]).toEqual(["cancelled", "cancelled", 1]);
		});
	});
}
