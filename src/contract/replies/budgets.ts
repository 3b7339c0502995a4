import { ON_HARD } from "../../kernel/records/budget.ts";
import { type Static, Type } from "../schema.ts";
import { at, count, flag, nextCursor, one, text } from "./parts.ts";

const limit = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }));

const dimension = Type.Object({
	used: count("How much is used in this period"),
	reserved: count("Reserved for running work and not yet spent"),
	hard: limit("No more than this may be spent; left out for no limit"),
	soft: limit("Going over this is told, nothing else; left out for none"),
	exhausted: flag("A report was refused; nothing is admitted until this is cleared"),
});

export const budget = Type.Object({
	id: text("Name, unique within its namespace"),
	namespace: text("The tenant it belongs to"),
	dimensions: Type.Record(dimension, { description: "Usage and limits by dimension" }),
	resetEvery: Type.Optional(
		Type.Union([Type.Integer(), Type.Literal("daily"), Type.Literal("monthly")], {
			description:
				"How often usage begins anew: every so many milliseconds, or by the calendar, UTC; left out for never",
		}),
	),
	onHard: one(ON_HARD, "What becomes of running work when a report is refused"),
	labels: Type.Record(Type.String(), { description: "Free text about it, such as its owner: {key: value}" }),
	waiting: count("Executions waiting for it"),
	breachCount: count("Reports refused"),
	softBreachCount: count("Reports that exceeded a soft limit"),
	lastBreachAt: Type.Optional(at("When a report was last refused")),
	lastBreachDimension: Type.Optional(text("The dimension that report exceeded")),
	nextResetAt: Type.Optional(at("When usage begins anew; left out for never")),
	createdAt: at("When it was created"),
});

/** A budget as it is now. */
export interface BudgetView extends Static<typeof budget> {}

export const createdBudget = Type.Object({
	...budget.properties,
	created: flag("False when it existed already with this definition"),
});

/** `created` is false when it existed already with this definition. */
export interface CreatedBudget extends Static<typeof createdBudget> {}

export const budgetPage = Type.Object({
	budgets: Type.Array(budget, { description: "In the order they were created" }),
	nextCursor,
});

/** A page of budgets in the order they were made. */
export interface BudgetPage extends Static<typeof budgetPage> {}

export const usage = Type.Object({
	outcome: one(["ok", "soft_breach", "hard_breach"], "What became of the report; a hard_breach counts nothing"),
	dimension: Type.Optional(text("The first dimension whose limit was exceeded, or would have been")),
	current: Type.Optional(count("How much of it is used")),
	limit: limit("The limit it exceeded, or would have"),
	duplicate: flag("The report was a repeat under its dedupKey, and was not counted again"),
});

/** What became of a report: after a `hard_breach` nothing of it was counted. */
export interface UsageReply extends Static<typeof usage> {}

export const budgetReset = Type.Object({
	nextResetAt: Type.Optional(at("When usage begins anew next; left out for never")),
});

/** When the next period begins, if there is one. */
export interface BudgetReset extends Static<typeof budgetReset> {}

const amounts = (description: string) => Type.Record(count("An amount"), { description });

export const releasedSpend = Type.Object({ released: amounts("What was taken back, by dimension") });

/** What was taken back; nothing when there was nothing. */
export interface ReleasedSpend extends Static<typeof releasedSpend> {}

const entry = Type.Object({
	executionId: Type.Optional(
		text("The execution that spent it; left out for usage without one, or of one that is gone"),
	),
	dims: amounts("What was spent, by dimension"),
	reserved: Type.Optional(amounts("What is reserved and not yet spent, by dimension")),
	reportedAt: at("When it was last reported"),
});

export const ledgerPage = Type.Object({
	entries: Type.Array(entry, { description: "Latest report first" }),
	nextCursor,
});

/** Who spent what in this period, latest report first. */
export interface LedgerPage extends Static<typeof ledgerPage> {}
