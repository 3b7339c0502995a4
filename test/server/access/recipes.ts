import { executionRecipes } from "./execution-recipes.ts";
import { flowRecipes } from "./flow-recipes.ts";
import { budgetRecipes, laneRecipes, quotaRecipes } from "./guard-recipes.ts";
import { type Recipes, recipe } from "./recipe.ts";
import { waitpointRecipes } from "./waitpoint-recipes.ts";
import { workerRecipes } from "./worker-recipes.ts";

export const RECIPES: Recipes = {
	...executionRecipes,
	...workerRecipes,
	...waitpointRecipes,
	...flowRecipes,
	...laneRecipes,
	...budgetRecipes,
	...quotaRecipes,

	"GET /v1/events": [
		recipe(["namespace"], ({ namespace }) => ({ query: { namespace } })),
		recipe(["namespace", "feedCursor"], ({ namespace, feedCursor: cursor }) => ({ query: { namespace, cursor } })),
		recipe(["namespace"], ({ namespace }) => ({
			query: { namespace },
			headers: { accept: "text/event-stream" },
		})),
	],
	"GET /v1/admin/scanners": [recipe([], undefined, { isForUnbound: true })],
	"POST /v1/admin/backup": [recipe([], undefined, { isForUnbound: true })],
	"POST /v1/admin/rotate-waitpoint-secret": [recipe([], undefined, { isForUnbound: true })],

	"GET /": [recipe([])],
	"GET /healthz": [recipe([])],
	"GET /readyz": [recipe([])],
	"GET /metrics": [recipe([])],
	"GET /openapi.json": [recipe([])],
};
