import type { Name } from "./names.ts";
import { KEY_IN_USE, recipe } from "./recipe.ts";

const SSE = { accept: "text/event-stream" };

/** A read of one execution. */
const read = (name: "waiting" | "ended" | "busy", query: Record<string, string | number | boolean> = {}) =>
	recipe([name], (values) => ({ params: { id: values[name] }, query }));

const change = (name: "waiting" | "ended" | "held", body?: object) =>
	recipe([name], (values) => ({ params: { id: values[name] }, body }));

/** A list narrowed by something that it names. */
const narrowed = <N extends Name>(field: string, name: N) =>
	recipe(["namespace", name] as const, (values) => ({
		query: { namespace: values.namespace, [field]: String(values[name]) },
	}));

export const executionRecipes = {
	"POST /v1/executions": [
		recipe(
			["namespace", "budget", "quota"],
			({ namespace, budget, quota }) => ({
				body: { kind: "job", namespace, budgets: [budget], quotas: [quota], reserve: { [budget]: { tokens: 1 } } },
			}),
			{ status: 201 },
		),
		recipe(["namespace", "lane", "kind"], ({ namespace, lane, kind }) => ({ body: { namespace, lane, kind } }), {
			status: 201,
		}),
		recipe(
			["namespace", "key", "kind"],
			({ namespace, key, kind }) => ({
				body: { kind, namespace, idempotencyKey: key },
			}),
			KEY_IN_USE,
		),
	],
	"POST /v1/executions/batch": [
		recipe(["namespace", "budget", "quota"], ({ namespace, budget, quota }) => ({
			body: {
				items: [
					{ kind: "job", namespace },
					{ kind: "job", budgets: [budget], namespace },
					{ kind: "job", quotas: [quota], namespace },
				],
			},
		})),
	],
	"GET /v1/executions": [
		recipe(["namespace"], ({ namespace }) => ({ query: { namespace } })),
		narrowed("lane", "lane"),
		narrowed("kind", "kind"),
		narrowed("tag", "tag"),
		narrowed("idempotencyKey", "key"),
		narrowed("flowId", "openFlow"),
		narrowed("parentId", "busy"),
		narrowed("cursor", "executionsCursor"),
	],
	"GET /v1/executions/:id": [read("waiting"), read("ended"), read("busy")],
	"GET /v1/executions/:id/input": [read("waiting")],
	"GET /v1/executions/:id/result": [read("ended")],
	"GET /v1/executions/:id/wait": [read("waiting", { timeoutMs: 0 }), read("ended")],
	"GET /v1/executions/:id/events": [
		read("busy"),
		recipe(["busy", "eventsCursor"], ({ busy, eventsCursor: cursor }) => ({ params: { id: busy }, query: { cursor } })),
		recipe(["busy"], ({ busy }) => ({ params: { id: busy }, headers: SSE })),
	],
	"GET /v1/executions/:id/attempts": [read("busy")],
	"GET /v1/executions/:id/steps": [
		read("busy"),
		recipe(["busy"], ({ busy }, role) => ({
			params: { id: busy },
			query: { values: !["viewer", "submitter"].includes(role) },
		})),
		recipe(["busy", "stepsCursor"], ({ busy, stepsCursor: cursor }) => ({ params: { id: busy }, query: { cursor } })),
	],
	"GET /v1/executions/:id/explain": [read("waiting")],
	"POST /v1/executions/:id/cancel": [
		// A worker cancels what it holds, with its fence.
		recipe(["held", "fence"], ({ held: id, fence }, role) => ({
			params: { id },
			body: { mode: "force", reason: "x", ...(["worker", "admin"].includes(role) ? { fence } : undefined) },
		})),
		recipe(["held", "fence"], ({ held: id, fence }, role) => ({
			params: { id },
			body: role === "worker" ? { fence } : {},
		})),
	],
	"POST /v1/executions/:id/replay": [change("ended")],
	"POST /v1/executions/:id/priority": [change("waiting", { priority: 7 })],
	"POST /v1/executions/:id/tags": [change("ended", { set: { mine: "now" } })],
	"POST /v1/executions/:id/revoke-lease": [
		change("held"),
		recipe(["held", "fence"], ({ held: id, fence }) => ({ params: { id }, body: { expectedLeaseId: fence.leaseId } })),
	],
	"POST /v1/executions/bulk": [
		recipe(["namespace", "kind"], ({ namespace, kind }) => ({
			body: { filter: { namespace, kind }, action: "cancel" },
		})),
		recipe(["openFlow"], ({ openFlow: flowId }) => ({ body: { filter: { flowId }, action: "cancel" } })),
		recipe(["busy"], ({ busy: parentId }) => ({ body: { filter: { parentId }, action: "delete" } })),
		recipe(["namespace", "key"], ({ namespace, key: idempotencyKey }) => ({
			body: { filter: { namespace, idempotencyKey }, action: "cancel" },
		})),
		recipe(["namespace", "lane", "executionsCursor"], ({ namespace, lane, executionsCursor: cursor }) => ({
			body: { filter: { namespace, lane }, action: "replay", cursor },
		})),
	],
	"DELETE /v1/executions/:id": [change("ended")],

	"GET /v1/executions/:id/attempts/:n/stream": [recipe(["busy"], ({ busy: id }) => ({ params: { id, n: 0 } }))],
	"GET /v1/executions/:id/attempts/:n/stream/tail": [
		recipe(["busy"], ({ busy: id }) => ({ params: { id, n: 0 } })),
		recipe(["busy"], ({ busy: id }) => ({ params: { id, n: 0 }, headers: SSE })),
	],
	"GET /v1/executions/:id/attempts/:n/summary": [recipe(["busy"], ({ busy: id }) => ({ params: { id, n: 0 } }))],
} as const;
