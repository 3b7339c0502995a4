import { base64, category, duration, fence, integer, moment, page, text } from "./fields.ts";
import { retryPolicy } from "./policy.ts";
import { described, type Static, Type } from "./schema.ts";
import { shape } from "./validate.ts";
import { MAX_REASON } from "./worker-protocol.ts";

/** Requests about the recorded steps of an execution. */

/** It is a part of a key, so no store may have to change a character of it. */
export const stepName = Type.String({
	pattern: "^[^\\p{Cc}\\p{Cs}]{1,256}$",
	description: "Name of the step",
	allowed: "must be a string of 1 to 256 characters without control characters",
});

/** No execution can have more steps than this: each counts 64 bytes of 64 MiB at least. */
const MAX_INDEX = 1024 * 1024;

export const recordStepRequest = shape(
	Type.Object(
		{
			fence: Type.Optional(fence),
			name: stepName,
			index: integer(0, MAX_INDEX, "Position among the steps of this name in one run, from 0"),
			result: Type.Optional(Type.Unknown({ description: "What it returned; nothing when all three are left out" })),
			resultBase64: Type.Optional(described(base64, "What it returned as base64, if bytes")),
			error: Type.Optional(
				Type.Object(
					{ reason: text(1, MAX_REASON, "What went wrong"), category: Type.Optional(category) },
					{
						additionalProperties: false,
						description: "The step failed, and runs again in the next run",
						allowed: "must be {reason, category?}",
					},
				),
			),
			startedAt: moment("Start time by the worker's clock; used for the duration only"),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** A step of a handler, and what it came to. */
export type RecordStepRequest = Static<typeof recordStepRequest.schema>;

/** How a handler asks for a step to be run. */
export const stepCall = shape(
	Type.Object(
		{
			name: stepName,
			retry: Type.Optional(retryPolicy),
			timeoutMs: Type.Optional(duration(1, "How long each try may take (no limit)")),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** How a step is to be run. */
export type StepOptions = Omit<Static<typeof stepCall.schema>, "name">;

export const stepsRequest = shape(
	Type.Object(
		{
			...page,
			values: Type.Optional(
				Type.Boolean({
					description: "With what they returned (false); only for workers, operators and admins",
					allowed: "must be a boolean",
				}),
			),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** Which page of steps to read. */
export type StepsRequest = Static<typeof stepsRequest.schema>;
