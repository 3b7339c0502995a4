import { recipe } from "./recipe.ts";

const onLane = (body?: object) =>
	recipe(["lane", "namespace"], ({ lane, namespace }) => ({ params: { lane }, query: { namespace }, body }));

const onBudget = (body?: object, more = {}) =>
	recipe(
		["budget", "namespace"],
		({ budget: id, namespace }) => ({ params: { id }, query: { namespace }, body }),
		more,
	);

const onQuota = (body?: object, more = {}) =>
	recipe(["quota", "namespace"], ({ quota: id, namespace }) => ({ params: { id }, query: { namespace }, body }), more);

export const laneRecipes = {
	"GET /v1/lanes": [
		recipe(["namespace"], ({ namespace }) => ({ query: { namespace } })),
		recipe(["namespace", "lanesCursor"], ({ namespace, lanesCursor: cursor }) => ({ query: { namespace, cursor } })),
	],
	"PATCH /v1/lanes/:lane": [onLane({ agingMs: 5 })],
	"POST /v1/lanes/:lane/pause": [onLane()],
	"POST /v1/lanes/:lane/resume": [onLane()],
	"POST /v1/lanes/:lane/drain": [onLane()],
} as const;

export const budgetRecipes = {
	"POST /v1/budgets": [
		recipe(["budget", "namespace"], ({ budget: id, namespace }) => ({
			body: { id, namespace, dimensions: { tokens: { hard: 1000 } } },
		})),
	],
	"GET /v1/budgets": [
		recipe(["namespace"], ({ namespace }) => ({ query: { namespace } })),
		recipe(["namespace", "budgetsCursor"], ({ namespace, budgetsCursor: cursor }) => ({
			query: { namespace, cursor },
		})),
	],
	"GET /v1/budgets/:id": [onBudget()],
	"PATCH /v1/budgets/:id": [onBudget({ onHard: "fail" })],
	"DELETE /v1/budgets/:id": [onBudget(undefined)],
	"POST /v1/budgets/:id/usage": [
		recipe(["budget", "namespace", "busy"], ({ budget: id, namespace, busy: executionId }) => ({
			params: { id },
			query: { namespace },
			body: { dims: { tokens: 1 }, executionId },
		})),
	],
	"POST /v1/budgets/:id/reset": [onBudget({ requestId: "again" })],
	"POST /v1/budgets/:id/release": [
		recipe(["budget", "namespace", "busy"], ({ budget: id, namespace, busy: executionId }) => ({
			params: { id },
			query: { namespace },
			body: { executionId },
		})),
	],
	"GET /v1/budgets/:id/ledger": [
		onBudget(),
		recipe(["budget", "namespace", "ledgerCursor"], ({ budget: id, namespace, ledgerCursor: cursor }) => ({
			params: { id },
			query: { namespace, cursor },
		})),
	],
} as const;

export const quotaRecipes = {
	"POST /v1/quotas": [
		recipe(["quota", "namespace"], ({ quota: id, namespace }) => ({ body: { id, namespace, concurrency: 3 } })),
	],
	"GET /v1/quotas": [
		recipe(["namespace"], ({ namespace }) => ({ query: { namespace } })),
		recipe(["namespace", "quotasCursor"], ({ namespace, quotasCursor: cursor }) => ({ query: { namespace, cursor } })),
	],
	"GET /v1/quotas/:id": [onQuota()],
	"PATCH /v1/quotas/:id": [onQuota({ concurrency: 4 })],
	"DELETE /v1/quotas/:id": [onQuota(undefined)],
} as const;
