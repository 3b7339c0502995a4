import { held, recipe } from "./recipe.ts";

const worker = { workerId: "w", instanceId: "matrix" };

export const workerRecipes = {
	"POST /v1/claims": [
		recipe(["namespace", "lane"], ({ namespace, lane }) => ({ body: { ...worker, namespace, lanes: [lane] } })),
		recipe(["namespace", "kind"], ({ namespace, kind }) => ({ body: { ...worker, namespace, kinds: [kind] } })),
		recipe(["namespace", "claimRequest"], ({ namespace, claimRequest: requestId }) => ({
			body: { ...worker, namespace, requestId },
		})),
	],
	"POST /v1/grants": [
		recipe(["namespace", "lane"], ({ namespace, lane }) => ({
			body: { ...worker, namespace, lanes: [lane], grantTtlMs: 1000 },
		})),
		recipe(["namespace", "grantRequest"], ({ namespace, grantRequest: requestId }) => ({
			body: { ...worker, namespace, requestId, grantTtlMs: 1000 },
		})),
	],
	"POST /v1/grants/:id/accept": [
		recipe(["grant"], ({ grant: id }) => ({ params: { id }, body: { instanceId: "matrix" } })),
	],
	"POST /v1/leases/renew": [
		recipe(["held", "fence"], ({ held: executionId, fence }) => ({
			body: { leases: [{ executionId, ...fence }], leaseMs: 3_600_000 },
		})),
	],
	"POST /v1/leases/complete": [
		recipe(["held", "fence", "busy", "busyFence"], (values) => ({
			body: {
				items: [
					{ executionId: values.held, fence: values.fence },
					{ executionId: values.busy, fence: values.busyFence },
				],
			},
		})),
	],
	"POST /v1/executions/:id/complete": [held({ result: 1 })],
	"POST /v1/executions/:id/fail": [held({ reason: "x" })],
	"POST /v1/executions/:id/delay": [held({ delayMs: 1_000_000 })],
	"POST /v1/executions/:id/release": [held({})],
	"POST /v1/executions/:id/progress": [held({ message: "x" })],
	"POST /v1/executions/:id/steps": [held({ name: "s", index: 0, result: 1, startedAt: 0 })],
	"POST /v1/executions/:id/frames": [held({ frames: [{ text: "x" }] })],
	"POST /v1/executions/:id/children": [
		recipe(["held", "fence", "budget", "quota"], ({ held: id, fence, budget, quota }) => ({
			params: { id },
			body: { fence, items: [{ key: "c", kind: "job", budgets: [budget], quotas: [quota] }] },
		})),
		recipe(["held", "fence", "namespace"], ({ held: id, fence, namespace }) => ({
			params: { id },
			body: { fence, items: [{ key: "c", kind: "job", namespace }] },
		})),
	],
	"POST /v1/executions/:id/wait-children": [
		recipe(["busy", "busyFence", "child"], ({ busy: id, busyFence: fence, child }) => ({
			params: { id },
			body: { fence, mode: "all", ids: [child] },
		})),
	],
	"POST /v1/executions/:id/usage": [
		recipe(["busy", "busyFence", "budget"], ({ busy: id, busyFence: fence, budget }) => ({
			params: { id },
			body: { fence, budget, dims: { tokens: 1 } },
		})),
	],
	"GET /v1/workers/:instanceId/notices": [
		recipe(["instance"], ({ instance: instanceId }) => ({ params: { instanceId } })),
	],
	"PUT /v1/workers/:instanceId": [
		recipe(["instance", "namespace"], ({ instance: instanceId, namespace }) => ({
			params: { instanceId },
			body: { workerId: "w", namespace, capabilities: [], lanes: ["default"] },
		})),
	],
	"DELETE /v1/workers/:instanceId": [
		recipe(["instance", "namespace"], ({ instance: instanceId, namespace }) => ({
			params: { instanceId },
			query: { namespace },
		})),
	],
	"GET /v1/workers": [
		recipe(["namespace"], ({ namespace }) => ({ query: { namespace } })),
		recipe(["namespace", "workersCursor"], ({ namespace, workersCursor: cursor }) => ({
			query: { namespace, cursor },
		})),
	],
} as const;
