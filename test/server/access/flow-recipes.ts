import { KEY_IN_USE, recipe } from "./recipe.ts";

const nodes = [{ key: "a", kind: "job" }];

/** A call about one flow. */
const about = (name: "openFlow" | "endedFlow", body?: object, more = {}) =>
	recipe([name], (values) => ({ params: { id: values[name] }, body }), more);

export const flowRecipes = {
	"POST /v1/flows": [
		recipe(["namespace", "budget"], ({ namespace, budget }) => ({ body: { namespace, budgets: [budget], nodes } }), {
			status: 201,
		}),
		recipe(
			["namespace", "budget", "quota"],
			({ namespace, budget, quota }) => ({
				body: { namespace, nodes: [{ key: "a", kind: "job", budgets: [budget], quotas: [quota] }] },
			}),
			{ status: 201 },
		),
		recipe(
			["namespace", "flowKey"],
			({ namespace, flowKey: idempotencyKey }) => ({
				body: { namespace, idempotencyKey, nodes },
			}),
			KEY_IN_USE,
		),
		recipe(
			["namespace", "key"],
			({ namespace, key: idempotencyKey }) => ({
				body: { namespace, nodes: [{ key: "a", kind: "job", idempotencyKey }] },
			}),
			KEY_IN_USE,
		),
	],
	"GET /v1/flows": [
		recipe(["namespace"], ({ namespace }) => ({ query: { namespace } })),
		recipe(["namespace", "kind"], ({ namespace, kind }) => ({ query: { namespace, kind } })),
		recipe(["namespace", "flowsCursor"], ({ namespace, flowsCursor: cursor }) => ({ query: { namespace, cursor } })),
	],
	"GET /v1/flows/:id": [about("openFlow"), about("endedFlow")],
	"GET /v1/flows/:id/wait": [
		recipe(["openFlow"], ({ openFlow: id }) => ({ params: { id }, query: { timeoutMs: 0 } })),
		about("endedFlow"),
	],
	"GET /v1/flows/:id/events": [
		about("openFlow"),
		recipe(["openFlow", "flowEventsCursor"], ({ openFlow: id, flowEventsCursor: cursor }) => ({
			params: { id },
			query: { cursor },
		})),
		recipe(["openFlow"], ({ openFlow: id }) => ({ params: { id }, headers: { accept: "text/event-stream" } })),
	],
	"POST /v1/flows/:id/members": [
		recipe(
			["openFlow", "budget", "quota"],
			({ openFlow: id, budget, quota }) => ({
				params: { id },
				body: { key: "c", kind: "job", budgets: [budget], quotas: [quota] },
			}),
			{ status: 201 },
		),
	],
	"POST /v1/flows/:id/edges": [
		recipe(
			["openFlow", "node"],
			({ openFlow: id, node }) => ({
				params: { id },
				body: { from: node, to: node.replace(/.$/, "a"), expectedRevision: 1 },
			}),
			{ status: 201 },
		),
	],
	"PUT /v1/flows/:id/groups/:node": [
		recipe(["openFlow", "node"], ({ openFlow: id, node }) => ({ params: { id, node }, body: { policy: "any_of" } })),
	],
	"POST /v1/flows/:id/seal": [about("openFlow", undefined)],
	"POST /v1/flows/:id/cancel": [
		about("openFlow", { policy: "cancel_all" }, { status: 202 }),
		recipe(["openFlow"], ({ openFlow: id }) => ({
			params: { id },
			query: { wait: true },
			body: { policy: "cancel_all", mode: "force" },
		})),
	],
	"DELETE /v1/flows/:id": [about("endedFlow", undefined)],
} as const;
