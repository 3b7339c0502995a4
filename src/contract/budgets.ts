import { ON_HARD, type OnHard } from "../kernel/records/budget.ts";
import { duration, executionId, fence, namespace, page, text } from "./fields.ts";
import { amounts, checkDimensions, guardId, limit, MAX_DIMENSIONS, orNull, strict } from "./guards.ts";
import { described, type Static, Type } from "./schema.ts";
import { checkTags, tags } from "./tags.ts";
import { shape } from "./validate.ts";

/** Requests about budgets. */

const dimensionsAllowed = {
	maxProperties: MAX_DIMENSIONS,
	allowed: `must be an object of at most ${MAX_DIMENSIONS} dimensions`,
};

const hard = "No more than this may be spent; left out for no limit";
const soft = "Going over this is told, nothing else; left out for none";

const dimensions = Type.Record(
	Type.Object({ hard: Type.Optional(limit(hard)), soft: Type.Optional(limit(soft)) }, strict),
	{ ...dimensionsAllowed, description: "Limits by dimension: {name: {hard?, soft?}}" },
);

const patchedDimensions = Type.Record(
	orNull(
		Type.Object(
			{ hard: Type.Optional(orNull(limit(hard))), soft: Type.Optional(orNull(limit(soft))) },
			{ additionalProperties: false, allowed: "must be {hard?, soft?} or null" },
		),
	),
	{ ...dimensionsAllowed, description: "Limits by dimension; a dimension or a limit of null is removed" },
);

const everyAllowed = 'must be "daily", "monthly" or an integer number of milliseconds from 1000';
const resetEvery = Type.Union(
	[
		Type.Literal("daily", { allowed: everyAllowed }),
		Type.Literal("monthly", { allowed: everyAllowed }),
		duration(1000, "Milliseconds"),
	],
	{
		description: "How often usage begins anew: every so many milliseconds, or by the calendar, UTC",
		allowed: everyAllowed,
	},
);

const onHard = Type.Unsafe<OnHard>(
	Type.Enum([...ON_HARD], {
		description: "What becomes of running work when a report is refused (block)",
		allowed: `must be one of ${ON_HARD.join(", ")}`,
	}),
);

const labels = Type.Optional(described(tags, "Free text about it, such as its owner: {key: value}"));

export const createBudgetRequest = shape(
	Type.Object(
		{
			id: guardId,
			namespace: Type.Optional(namespace),
			dimensions,
			resetEvery: Type.Optional(resetEvery),
			onHard: Type.Optional(onHard),
			labels,
		},
		strict,
	),
);

/** What a budget is to be. */
export type CreateBudgetRequest = Static<typeof createBudgetRequest.schema>;

export const patchBudgetRequest = shape(
	Type.Object(
		{
			dimensions: Type.Optional(patchedDimensions),
			resetEvery: Type.Optional(orNull(resetEvery)),
			onHard: Type.Optional(onHard),
			labels,
		},
		strict,
	),
);

/** What is to change of a budget. */
export type PatchBudgetRequest = Static<typeof patchBudgetRequest.schema>;

/** What the shapes leave to be checked. */
export function checkBudget(given: Pick<PatchBudgetRequest, "dimensions" | "onHard" | "labels">): void {
	if (given.dimensions) checkDimensions("dimensions", given.dimensions);
	if (given.labels) checkTags("labels", given.labels);
}

const dedupKey = Type.Optional(
	text(0, 256, "A repeat within 24 hours under this key is not counted again; empty = none"),
);

export const usageRequest = shape(
	Type.Object(
		{
			dims: amounts,
			executionId: Type.Optional(described(executionId, "The execution that spent it (none)")),
			dedupKey,
		},
		strict,
	),
);

/** What was spent, as an operator reports it. */
export type UsageRequest = Static<typeof usageRequest.schema>;

export const workerUsageRequest = shape(
	Type.Object(
		{
			fence: Type.Optional(fence),
			budget: described(guardId, "The budget it was spent from"),
			dims: amounts,
			dedupKey,
		},
		strict,
	),
);

/** What was spent, as the holder of an execution reports it. */
export type WorkerUsageRequest = Static<typeof workerUsageRequest.schema>;

const requestId = Type.Optional(text(1, 256, "A repeat within 24 hours under this id has no effect"));

export const resetBudgetRequest = shape(Type.Object({ requestId }, strict));

/** Begins a new period of a budget. */
export type ResetBudgetRequest = Static<typeof resetBudgetRequest.schema>;

export const releaseSpendRequest = shape(Type.Object({ executionId, requestId }, strict));

/** Whose spending is to be taken back. */
export type ReleaseSpendRequest = Static<typeof releaseSpendRequest.schema>;

export const ledgerRequest = shape(Type.Object({ namespace: Type.Optional(namespace), ...page }, strict));

/** Which page of a ledger to read. */
export type LedgerRequest = Static<typeof ledgerRequest.schema>;
