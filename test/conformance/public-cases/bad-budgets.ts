import { expect } from "vitest";
import type { Backend } from "../../../src/index.ts";
import { type PublicCase, refusal, unknownId } from "../scene.ts";

type Call = (backend: Backend) => Promise<unknown>;

const budget = { id: "b", dimensions: { tokens: { hard: 1 } } };
const limits = (limit: unknown) => ({ id: "b", dimensions: { tokens: { hard: limit } } }) as never;
const dims = (amount: unknown) => ({ dims: { tokens: amount } }) as never;
const many = (length: number) => Array.from({ length }, (_, n) => `id${n}`);
const wide = Object.fromEntries(many(65).map((name) => [name, {}]));

/** By what is wrong: a call, and the field its refusal names. */
const badCalls: Record<string, [call: Call, field: string]> = {
	"a budget without an id": [(b) => b.budgets.create({ dimensions: {} } as never), "id"],
	"a budget with an empty id": [(b) => b.budgets.create({ ...budget, id: "" }), "id"],
	"a budget whose id has a comma": [(b) => b.budgets.create({ ...budget, id: "a,b" }), "id"],
	"a budget whose id is too long": [(b) => b.budgets.create({ ...budget, id: "x".repeat(129) }), "id"],
	"a budget without dimensions": [(b) => b.budgets.create({ id: "b" } as never), "dimensions"],
	"a limit of 0": [(b) => b.budgets.create(limits(0)), "dimensions.tokens.hard"],
	"a limit below 0": [(b) => b.budgets.create(limits(-1)), "dimensions.tokens.hard"],
	"a limit that is a fraction": [(b) => b.budgets.create(limits(1.5)), "dimensions.tokens.hard"],
	"a limit of 10^15": [(b) => b.budgets.create(limits(10 ** 15)), "dimensions.tokens.hard"],
	"a limit that is text": [(b) => b.budgets.create(limits("5")), "dimensions.tokens.hard"],
	"a soft limit of 0": [
		(b) => b.budgets.create({ id: "b", dimensions: { tokens: { soft: 0 } } }),
		"dimensions.tokens.soft",
	],
	"a limit of a kind nobody knows": [
		(b) => b.budgets.create({ id: "b", dimensions: { tokens: { max: 1 } } } as never),
		"dimensions.tokens.max",
	],
	"65 dimensions": [(b) => b.budgets.create({ id: "b", dimensions: wide }), "dimensions"],
	"a dimension with a space": [(b) => b.budgets.create({ id: "b", dimensions: { "a b": {} } }), "dimensions"],
	"a dimension that every object has": [
		(b) => b.budgets.create({ id: "b", dimensions: { constructor: { hard: 1 } } }),
		"dimensions",
	],
	"a reset more often than every second": [(b) => b.budgets.create({ ...budget, resetEvery: 999 }), "resetEvery"],
	"a reset every week": [(b) => b.budgets.create({ ...budget, resetEvery: "weekly" as never }), "resetEvery"],
	"an onHard nobody knows": [(b) => b.budgets.create({ ...budget, onHard: "explode" as never }), "onHard"],
	"a label that is no text": [(b) => b.budgets.create({ ...budget, labels: { a: 1 } as never }), "labels.a"],
	"a budget with an unknown field": [(b) => b.budgets.create({ ...budget, limit: 1 } as never), "limit"],
	"a patch of the id": [(b) => b.budgets.patch("b", { id: "c" } as never), "id"],
	"a patch to a limit of 0": [
		(b) => b.budgets.patch("b", { dimensions: { tokens: { hard: 0 } } }),
		"dimensions.tokens.hard",
	],
	"a read of a malformed id": [(b) => b.budgets.get("a/b"), "id"],
	"a page of 1001 budgets": [(b) => b.budgets.list({ limit: 1001 }), "limit"],
	"a cursor of another list": [(b) => b.budgets.list({ cursor: "bm90" }), "cursor"],
	"a page of a ledger of 0": [(b) => b.budgets.ledger("b", { limit: 0 }), "limit"],

	"usage without dims": [(b) => b.budgets.usage("b", {} as never), "dims"],
	"usage below 0": [(b) => b.budgets.usage("b", dims(-1)), "dims.tokens"],
	"usage of a fraction": [(b) => b.budgets.usage("b", dims(0.5)), "dims.tokens"],
	"usage of 10^15": [(b) => b.budgets.usage("b", dims(10 ** 15)), "dims.tokens"],
	"usage of null": [(b) => b.budgets.usage("b", dims(null)), "dims.tokens"],
	"usage of 65 dimensions": [
		(b) => b.budgets.usage("b", { dims: Object.fromEntries(many(65).map((name) => [name, 1])) }),
		"dims",
	],
	"usage of a dimension that every object has": [
		(b) => b.budgets.usage("b", { dims: { toString: 1 } as never }),
		"dims",
	],
	"usage by a malformed id": [(b) => b.budgets.usage("b", { dims: {}, executionId: "x" }), "executionId"],
	"usage under a key that is too long": [
		(b) => b.budgets.usage("b", { dims: {}, dedupKey: "k".repeat(257) }),
		"dedupKey",
	],
	"a worker's usage without a budget": [(b) => b.leases.usage(unknownId, { dims: {} } as never), "budget"],
	"a worker's usage below 0": [(b) => b.leases.usage(unknownId, { budget: "b", dims: { a: -1 } }), "dims.a"],
	"a worker's usage of a dimension that every object has": [
		(b) => b.leases.usage(unknownId, { budget: "b", dims: { valueOf: 1 } as never }),
		"dims",
	],
	"a release of nobody": [(b) => b.budgets.release("b", {} as never), "executionId"],
	"a reset with an unknown field": [(b) => b.budgets.reset("b", { hard: true } as never), "hard"],

	"a quota without limits": [(b) => b.quotas.create({ id: "q" }), "concurrency"],
	"a concurrency of 0": [(b) => b.quotas.create({ id: "q", concurrency: 0 }), "concurrency"],
	"a rate of 0": [(b) => b.quotas.create({ id: "q", rate: { max: 0, windowMs: 1 } }), "rate.max"],
	"a window of 0": [(b) => b.quotas.create({ id: "q", rate: { max: 1, windowMs: 0 } }), "rate.windowMs"],
	"a rate without a window": [(b) => b.quotas.create({ id: "q", rate: { max: 1 } } as never), "rate.windowMs"],
	"a negative jitter": [(b) => b.quotas.create({ id: "q", concurrency: 1, jitterMs: -1 }), "jitterMs"],
	"a patch of a quota with an unknown field": [(b) => b.quotas.patch("q", { max: 1 } as never), "max"],

	"an execution with 17 budgets": [(b) => b.executions.create({ kind: "job", budgets: many(17) }), "budgets"],
	"an execution with 17 quotas": [(b) => b.executions.create({ kind: "job", quotas: many(17) }), "quotas"],
	"an execution with a malformed budget": [(b) => b.executions.create({ kind: "job", budgets: ["a b"] }), "budgets[0]"],
	"a reservation of a budget it does not name": [
		(b) => b.executions.create({ kind: "job", budgets: ["a"], reserve: { b: { tokens: 1 } } }),
		"reserve",
	],
	"a reservation below 0": [
		(b) => b.executions.create({ kind: "job", budgets: ["a"], reserve: { a: { tokens: -1 } } }),
		"reserve.a.tokens",
	],
	"a reservation of a dimension that every object has": [
		(b) => b.executions.create({ kind: "job", budgets: ["a"], reserve: { a: { valueOf: 1 } as never } }),
		"reserve.a",
	],
};

/** Whatever is wrong is refused by name, before anything is asked of the store. */
export function badBudgetCases(test: PublicCase): void {
	for (const [name, [call, field]] of Object.entries(badCalls)) {
		test(`${name} is refused by name`, async (scene) => {
			const error = await refusal(call(scene.backend));
			expect(error).toMatchObject({ code: "invalid_input", status: 400, details: { field } });
			expect(error.message).toContain(field);
		});
	}

	test("a label whose key is none is refused like a tag's", async (scene) => {
		const error = await refusal(scene.ff.budgets.create({ ...budget, labels: { Team: "a" } }));
		expect(error).toMatchObject({ code: "invalid_tag_key", details: { field: "labels", key: "Team" } });
	});
}
