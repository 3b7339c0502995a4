import { FlowFabricError } from "./errors.ts";
import { filterFields } from "./executions.ts";
import { text } from "./fields.ts";
import { type Static, Type } from "./schema.ts";
import { shape } from "./validate.ts";

/** One action on everything a filter finds. */

export const MAX_BULK = 1000;
export const MAX_BULK_ERRORS = 100;

export const bulkRequest = shape(
	Type.Object(
		{
			filter: Type.Object(filterFields, {
				additionalProperties: false,
				description: "As for a list; at least one field besides namespace",
				allowed: "must be an object",
			}),
			action: Type.Enum(["cancel", "replay", "delete"], {
				description: "What to do with everything the filter finds",
				allowed: "must be one of cancel, replay, delete",
			}),
			reason: Type.Optional(text(1, 1024, "Why; only for cancel")),
			cursor: Type.Optional(text(1, 4096, "The nextCursor of the previous call")),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** One action, and what it is for. */
export type BulkRequest = Static<typeof bulkRequest.schema>;

/** What the shape alone cannot say. */
export function checkBulk({ filter, action, reason }: BulkRequest): void {
	const { namespace: _, ...narrowing } = filter;
	if (Object.values(narrowing).every((value) => value === undefined)) {
		const names = Object.keys(filterFields).filter((name) => name !== "namespace");
		throw invalid("filter", `must name at least one of ${names.join(", ")}`);
	}
	if (reason !== undefined && action !== "cancel") throw invalid("reason", "must be given with action cancel only");
}

function invalid(field: string, problem: string): FlowFabricError {
	return new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
}
