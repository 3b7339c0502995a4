import * as shapes from "../../contract/budgets.ts";
import { guardRequest, guardsPageRequest } from "../../contract/guards.ts";
import * as replies from "../../contract/replies/budgets.ts";
import { Type } from "../../contract/schema.ts";
import { onGuard, onNewGuard } from "../audit.ts";
import { readQuery } from "../query.ts";
import { idOf, inArea, type Route } from "./route.ts";

export function budgetRoutes(): Route[] {
	return inArea("budgets", [
		{
			name: "POST /v1/budgets",
			summary: "Create a budget; 200 instead of 201 when it already exists with this definition",
			body: shapes.createBudgetRequest.schema,
			replies: { 200: replies.createdBudget, 201: replies.createdBudget },
			audit: onNewGuard("budget-create"),
			async handle({ principal, body }, reply) {
				const made = await principal.backend.budgets.create(body as never);
				reply.code(made.created ? 201 : 200);
				return made;
			},
		},
		{
			name: "GET /v1/budgets",
			summary: "List budgets in the order they were created",
			query: guardsPageRequest,
			replies: { 200: replies.budgetPage },
			handle: ({ principal, query }) => principal.backend.budgets.list(readQuery(query, guardsPageRequest)),
		},
		{
			name: "GET /v1/budgets/:id",
			summary: "A budget: what is used and reserved of each dimension, and how many executions wait for it",
			query: guardRequest,
			replies: { 200: replies.budget },
			handle: (request) => request.principal.backend.budgets.get(idOf(request), readQuery(request.query, guardRequest)),
		},
		{
			name: "PATCH /v1/budgets/:id",
			summary: "Change a budget, at once; null removes a dimension or a limit",
			query: guardRequest,
			body: shapes.patchBudgetRequest.schema,
			replies: { 200: replies.budget },
			audit: onGuard("budget-patch"),
			handle: (request) =>
				request.principal.backend.budgets.patch(
					idOf(request),
					request.body as never,
					readQuery(request.query, guardRequest),
				),
		},
		{
			name: "DELETE /v1/budgets/:id",
			summary: "Delete a budget; executions that waited for it are released",
			query: guardRequest,
			replies: { 200: Type.Object({ deleted: Type.Literal(true) }) },
			audit: onGuard("budget-delete"),
			handle: (request) =>
				request.principal.backend.budgets.delete(idOf(request), readQuery(request.query, guardRequest)),
		},
		{
			name: "POST /v1/budgets/:id/usage",
			summary: "Report usage; a report that exceeds a hard limit is not counted",
			query: guardRequest,
			body: shapes.usageRequest.schema,
			replies: { 200: replies.usage },
			audit: onGuard("budget-usage", (answer) => ({ result: (answer as { outcome: string }).outcome })),
			handle: (request) =>
				request.principal.backend.budgets.usage(
					idOf(request),
					request.body as never,
					readQuery(request.query, guardRequest),
				),
		},
		{
			name: "POST /v1/budgets/:id/reset",
			summary: "Start a new period now: usage is zero and nothing is exhausted",
			query: guardRequest,
			body: shapes.resetBudgetRequest.schema,
			bodyOptional: true,
			replies: { 200: replies.budgetReset },
			audit: onGuard("budget-reset"),
			handle: (request) =>
				request.principal.backend.budgets.reset(
					idOf(request),
					(request.body === undefined ? {} : request.body) as never,
					readQuery(request.query, guardRequest),
				),
		},
		{
			name: "POST /v1/budgets/:id/release",
			summary: "Take back what an execution spent in this period; repeats take back nothing more",
			query: guardRequest,
			body: shapes.releaseSpendRequest.schema,
			replies: { 200: replies.releasedSpend },
			audit: onGuard("budget-release", (answer) => answer as Record<string, unknown>),
			handle: (request) =>
				request.principal.backend.budgets.release(
					idOf(request),
					request.body as never,
					readQuery(request.query, guardRequest),
				),
		},
		{
			name: "GET /v1/budgets/:id/ledger",
			summary: "Who spent what in this period, latest report first",
			query: shapes.ledgerRequest,
			replies: { 200: replies.ledgerPage },
			handle: (request) =>
				request.principal.backend.budgets.ledger(idOf(request), readQuery(request.query, shapes.ledgerRequest)),
		},
	]);
}
