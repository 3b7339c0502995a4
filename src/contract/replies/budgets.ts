import { ON_HARD } from "../../kernel/records/budget.ts";
import { type Static, Type } from "../schema.ts";
import { at, count, nextCursor, one, tags } from "./parts.ts";

const limit = Type.Optional(Type.Integer({ minimum: 1 }));

const dimension = Type.Object({
	used: count,
	reserved: Type.Integer({ minimum: 0, description: "Reserved for running work and not yet spent" }),
	hard: limit,
	soft: limit,
	exhausted: Type.Boolean({ description: "A report was refused; nothing is admitted until this is cleared" }),
});

export const budget = Type.Object({
	id: Type.String(),
	namespace: Type.String(),
	dimensions: Type.Record(dimension),
	resetEvery: Type.Optional(Type.Union([Type.Integer(), Type.Literal("daily"), Type.Literal("monthly")])),
	onHard: one(ON_HARD),
	labels: tags,
	waiting: Type.Integer({ minimum: 0, description: "Executions waiting for it" }),
	breachCount: Type.Integer({ minimum: 0, description: "Reports refused" }),
	softBreachCount: Type.Integer({ minimum: 0, description: "Reports that exceeded a soft limit" }),
	lastBreachAt: Type.Optional(at),
	lastBreachDimension: Type.Optional(Type.String()),
	nextResetAt: Type.Optional(at),
	createdAt: at,
});

/** A budget as it is now. */
export interface BudgetView extends Static<typeof budget> {}

export const createdBudget = Type.Object({ ...budget.properties, created: Type.Boolean() });

/** `created` is false when it existed already with this definition. */
export interface CreatedBudget extends Static<typeof createdBudget> {}

export const budgetPage = Type.Object({ budgets: Type.Array(budget), nextCursor });

/** A page of budgets in the order they were made. */
export interface BudgetPage extends Static<typeof budgetPage> {}

export const usage = Type.Object({
	outcome: one(["ok", "soft_breach", "hard_breach"]),
	dimension: Type.Optional(
		Type.String({ description: "The first dimension whose limit was exceeded, or would have been" }),
	),
	current: Type.Optional(Type.Integer({ minimum: 0, description: "How much of it is used" })),
	limit: Type.Optional(Type.Integer({ minimum: 1 })),
	duplicate: Type.Boolean({ description: "The report was a repeat under its dedupKey, and was not counted again" }),
});

/** What became of a report: after a `hard_breach` nothing of it was counted. */
export interface UsageReply extends Static<typeof usage> {}

export const budgetReset = Type.Object({ nextResetAt: Type.Optional(at) });

export interface BudgetReset extends Static<typeof budgetReset> {}

const amounts = Type.Record(count);

export const releasedSpend = Type.Object({ released: amounts });

/** What was taken back; nothing when there was nothing. */
export interface ReleasedSpend extends Static<typeof releasedSpend> {}

const entry = Type.Object({
	executionId: Type.Optional(
		Type.String({ description: "Left out for usage without an execution, or of one that is gone" }),
	),
	dims: amounts,
	reserved: Type.Optional(amounts),
	reportedAt: at,
});

export const ledgerPage = Type.Object({ entries: Type.Array(entry), nextCursor });

/** Who spent what in this period, latest report first. */
export interface LedgerPage extends Static<typeof ledgerPage> {}
