import { FlowFabricError } from "./errors.ts";
import { duration, namespace } from "./fields.ts";
import { guardId, limit, orNull, strict } from "./guards.ts";
import { type Static, Type } from "./schema.ts";
import { shape } from "./validate.ts";

/** Requests about quotas. */

const rate = Type.Object(
	{ max: limit("Admissions within the window"), windowMs: duration(1, "How long an admission counts") },
	{
		additionalProperties: false,
		description: "How many may start within a sliding window",
		allowed: "must be {max, windowMs}",
	},
);

const concurrency = limit("How many may run at the same time");

const more = {
	holdWhileSuspended: Type.Optional(
		Type.Boolean({ description: "A suspended execution keeps its slot (false)", allowed: "must be a boolean" }),
	),
	jitterMs: Type.Optional(duration(0, "Maximum extra delay before work that waits for the window starts (0)")),
};

export const createQuotaRequest = shape(
	Type.Object(
		{
			id: guardId,
			namespace: Type.Optional(namespace),
			rate: Type.Optional(rate),
			concurrency: Type.Optional(concurrency),
			...more,
		},
		strict,
	),
);

/** What a quota is to be. */
export type CreateQuotaRequest = Static<typeof createQuotaRequest.schema>;

export const patchQuotaRequest = shape(
	Type.Object({ rate: Type.Optional(orNull(rate)), concurrency: Type.Optional(orNull(concurrency)), ...more }, strict),
);

/** What is to change of a quota. */
export type PatchQuotaRequest = Static<typeof patchQuotaRequest.schema>;

export function checkNewQuota(given: CreateQuotaRequest): void {
	if (given.rate || given.concurrency !== undefined) return;
	throw new FlowFabricError("invalid_input", {
		message: "concurrency: at least one of rate and concurrency is required",
		details: { field: "concurrency" },
	});
}
