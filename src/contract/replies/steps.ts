import { type Static, Type } from "../schema.ts";
import { at, count, nextCursor } from "./parts.ts";

/** What is told of recorded steps. */

const optional = Type.Optional;

const described = {
	name: Type.String(),
	index: Type.Integer({ minimum: 0, description: "Position among the steps of this name in one run, from 0" }),
	number: Type.Integer({ minimum: 1, description: "Position among all steps: 1, 2, 3 …" }),
	attempt: Type.Integer({ minimum: 0, description: "The attempt that recorded it" }),
	recordedAt: at,
	durationMs: count,
	size: Type.Integer({ minimum: 0, description: "Bytes of its result; 0 when there is none" }),
	error: optional(
		Type.Object(
			{ reason: Type.String(), category: Type.String() },
			{ description: "The step failed, and runs again in the next run" },
		),
	),
};

export const recordedStep = Type.Object(described);

/** A step as it was recorded, now or before. */
export interface RecordedStep extends Static<typeof recordedStep> {}

export const step = Type.Object({
	...described,
	result: optional(Type.Unknown({ description: "With values: its result, if JSON" })),
	resultBase64: optional(Type.String({ description: "With values: its result, if bytes" })),
});

/** A recorded step; with what it returned, if that was asked for. */
export interface StepView extends Static<typeof step> {}

export const stepPage = Type.Object({ steps: Type.Array(step), nextCursor });

/** Steps in the order they were made; a page may hold fewer than asked for and still have a cursor. */
export interface StepPage extends Static<typeof stepPage> {}
