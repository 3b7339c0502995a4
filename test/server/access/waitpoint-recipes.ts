import { recipe } from "./recipe.ts";

export const waitpointRecipes = {
	"GET /v1/waitpoints": [
		recipe(["namespace"], ({ namespace }) => ({ query: { namespace } })),
		recipe(["namespace", "waitpointKey"], ({ namespace, waitpointKey: key }) => ({ query: { namespace, key } })),
		recipe(["namespace", "inboxCursor"], ({ namespace, inboxCursor: cursor }) => ({ query: { namespace, cursor } })),
	],
	"GET /v1/executions/:id/waitpoints": [
		recipe(["suspended"], ({ suspended: id }) => ({ params: { id }, query: { all: true } })),
	],
	"GET /v1/executions/:id/waitpoints/:wp/token": [
		recipe(["suspended", "waitpoint"], ({ suspended: id, waitpoint: wp }) => ({ params: { id, wp } })),
	],
	"GET /v1/executions/:id/signals": [recipe(["suspended"], ({ suspended: id }) => ({ params: { id } }))],
	"POST /v1/executions/:id/signals": [
		recipe(["suspended", "waitpoint", "token"], ({ suspended: id, waitpoint: waitpointId, token }) => ({
			params: { id },
			body: { waitpointId, token, name: "other" },
		})),
	],
	"POST /v1/callbacks/:wp": [
		recipe(["waitpoint", "token"], ({ waitpoint: wp, token }) => ({ params: { wp }, query: { token }, body: {} })),
	],
	"POST /v1/executions/:id/approve": [
		recipe(["suspended", "waitpointKey"], ({ suspended: id, waitpointKey: waitpoint }) => ({
			params: { id },
			body: { name: "go", waitpoint },
		})),
	],
	"POST /v1/executions/:id/resume": [recipe(["suspended"], ({ suspended: id }) => ({ params: { id } }))],
	"POST /v1/executions/:id/suspend": [
		recipe(["held", "fence", "openWaitpoint"], ({ held: id, fence, openWaitpoint }) => ({
			params: { id },
			body: {
				fence,
				reason: "waiting_for_signal",
				condition: { signal: "go" },
				waitpoints: [{ id: openWaitpoint, key: "early" }],
			},
		})),
	],
	"POST /v1/executions/:id/waitpoints": [
		recipe(["held", "fence"], ({ held: id, fence }) => ({ params: { id }, body: { fence, key: "mine" } }), {
			status: 201,
		}),
	],
} as const;
