import { expect } from "vitest";
import type { Context, CreateRequest } from "../../../src/index.ts";
import { submitted, withWorker } from "../handler-stage.ts";
import { type PublicCase, refusal } from "../scene.ts";

const loop: Record<string, unknown> = { name: "loop" };
loop.self = loop;

/** What JSON would drop or change: where it stands in a value, and what is said of it. */
const UNFIT: readonly [what: string, value: unknown, field: string, problem: string][] = [
	["NaN deep inside", { items: [1, 2, 3, { price: Number.NaN }] }, "input.items[3].price", "NaN is not JSON"],
	["Infinity", Number.POSITIVE_INFINITY, "input", "Infinity is not JSON"],
	["undefined in a list", [1, undefined], "input[1]", "undefined is not JSON"],
	["a hole in a list", new Array(1), "input[0]", "undefined is not JSON"],
	["a Map", { byId: new Map([["a", 1]]) }, "input.byId", "a Map is not JSON"],
	["a Set", { "tags of it": new Set(["a"]) }, 'input["tags of it"]', "a Set is not JSON"],
	["a function", { step: { call: () => 1 } }, "input.step.call", "a function is not JSON"],
	["a symbol", { mark: Symbol("x") }, "input.mark", "a symbol is not JSON"],
	["a BigInt", { ids: [10n] }, "input.ids[0]", "a BigInt is not JSON"],
	["an error", { cause: new Error("lost") }, "input.cause", "an Error is not JSON"],
	["a date that is none", { at: new Date(Number.NaN) }, "input.at", "an invalid Date is not JSON"],
	["bytes inside a value", { photo: Uint8Array.from([1]) }, "input.photo", "bytes within a value"],
	["a loop", loop, "input", "cannot be written as JSON"],
];

/** What JSON would drop or change is refused by its path, wherever values are given. */
export function unfitValueCases(test: PublicCase): void {
	for (const [what, input, field, problem] of UNFIT) {
		test(`${what} is refused in an input, by its path`, async (scene) => {
			const error = await refusal(scene.backend.executions.create({ kind: "job", input }));
			expect(error).toMatchObject({ code: "invalid_input", details: { field } });
			expect(error.message).toContain(`${field}: ${problem}`);
			expect(await scene.listed()).toEqual([]);
		});
	}

	test("what JSON holds is taken: dates, fields that are undefined, instances of classes", async (scene) => {
		class Point {
			x = 1;
			y = { z: -0 };
		}
		const at = new Date(0);
		const input = {
			at,
			left: undefined,
			point: new Point(),
			text: "\ud800",
			none: Object.create(null),
			boxed: Object(1),
		};
		const { id } = await scene.start({ input });
		const kept = await scene.backend.executions.input(id);
		expect(JSON.parse(Buffer.from(kept?.bytes ?? []).toString())).toEqual({
			at: at.toISOString(),
			point: { x: 1, y: { z: 0 } },
			text: "\ud800",
			none: {},
			boxed: 1,
		});
	});

	test("in a batch only the item with such a value is refused", async (scene) => {
		const items: CreateRequest[] = [{ kind: "job" }, { kind: "job", input: { n: Number.NaN } }, { kind: "job" }];
		expect(await scene.backend.executions.createMany(items)).toMatchObject([
			{ ok: true },
			{ ok: false, error: { code: "invalid_input", message: "input.n: NaN is not JSON" } },
			{ ok: true },
		]);
	});

	test("it is refused in the node of a flow, and nothing is created", async (scene) => {
		const flow = { nodes: [{ key: "a", kind: "job", input: { n: Number.NaN } }], edges: [] };
		const error = await refusal(scene.backend.flows.create(flow));
		expect(error.code).toBe("invalid_input");
		expect(error.message).toContain("input.n: NaN is not JSON");
		expect(await scene.listed()).toEqual([]);
	});

	test("it is refused in a child, a result and the answer to a waitpoint", async (scene) => {
		const { id, fence } = await scene.start();
		const items = [{ key: "a", kind: "child", input: { n: Number.NaN } }];
		expect(await scene.backend.leases.addChildren(id, { fence, items })).toMatchObject([
			{ ok: false, error: { code: "invalid_input", message: "input.n: NaN is not JSON" } },
		]);
		const result = { total: Number.NaN };
		const error = await refusal(scene.backend.leases.complete(id, { fence, result }));
		expect(error).toMatchObject({ code: "invalid_input", message: "result.total: NaN is not JSON" });
		expect((await scene.get(id)).publicState).toBe("active");
		const condition = { signal: "yes" };
		await scene.backend.leases.suspend(id, {
			fence,
			reason: "waiting_for_approval",
			condition,
			waitpoints: [{ key: "a" }],
		});
		const payload = { n: Number.NaN };
		const answer = await refusal(scene.backend.waitpoints.approve(id, { name: "yes", payload }));
		expect(answer).toMatchObject({ code: "invalid_input", message: "payload.n: NaN is not JSON" });
	});

	test("a handler that returns such a value fails for good, and so does a step", async (scene) => {
		const total = () => ({ totals: [1, Number.NaN] });
		const handler = (ctx: Context, input: string) => (input === "step" ? ctx.step("sum", total) : total());
		await withWorker(scene, handler, async () => {
			for (const [input, reason] of [
				["result", "result.totals[1]: NaN is not JSON"],
				["step", "step sum cannot be recorded: result.totals[1]: NaN is not JSON"],
			]) {
				const id = await submitted(scene, { input, policy: { retry: {} } });
				expect(await scene.get(id)).toMatchObject({
					publicState: "failed",
					retries: 0,
					failure: { reason, category: "permanent" },
				});
			}
		});
	});

	test("a list that a handler returns may lack items, as that of functions that return nothing", async (scene) => {
		await withWorker(
			scene,
			() => Promise.all([Promise.resolve(), Promise.resolve(1)]),
			async () => {
				const id = await submitted(scene);
				expect(await scene.ff.result(id)).toEqual([null, 1]);
			},
		);
	});

	test("what is no item, no id and no mode is refused like anything else", async (scene) => {
		const { ff } = scene;
		expect(await ff.submitMany([null as never, { kind: "job" }])).toMatchObject([
			{ ok: false, error: { code: "invalid_input" } },
			{ ok: true },
		]);
		expect((await refusal(ff.submitMany(undefined as never))).code).toBe("invalid_input");
		for (const id of [undefined, null, 7, "", "ex_1"]) {
			const error = await refusal(ff.get(id as never));
			expect(error).toMatchObject({ code: "invalid_input", details: { field: "id" } });
			expect(error.message).toMatch(/^id: must be the id of an execution: ex_.*, got .+$/);
		}
		const { id } = await scene.start({ lane: "elsewhere" });
		const error = await refusal(ff.cancel(id, { mode: "kill" as never }));
		expect(error).toMatchObject({ code: "invalid_input", details: { field: "mode" } });
		expect(error.message).toMatch(/graceful.*force.*"kill"/);
	});

	test("a field that is not known is refused with the one that was meant", async (scene) => {
		const error = await refusal(scene.ff.submit("job", {}, { priorty: 5 } as never));
		expect(error).toMatchObject({ code: "invalid_input", details: { field: "priorty" } });
		expect(error.message).toBe("priorty: is not a known field; did you mean priority?");
	});
}
