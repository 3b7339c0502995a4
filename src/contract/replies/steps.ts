import { type Static, Type } from "../schema.ts";
import { at, count, nextCursor, text } from "./parts.ts";

/** What is told of recorded steps. */

const optional = Type.Optional;

const described = {
	name: text("Name of the step"),
	index: count("Position among the steps of this name in one run, from 0"),
	number: Type.Integer({ minimum: 1, description: "Position among all steps: 1, 2, 3 …" }),
	attempt: count("The attempt that recorded it"),
	recordedAt: at("When it was recorded"),
	durationMs: count("How long it took, in milliseconds"),
	size: count("Bytes of its result; 0 when there is none"),
	error: optional(
		Type.Object(
			{ reason: text("What went wrong"), category: text("The kind of failure, as retry policies name it") },
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
	resultBase64: optional(text("With values: its result as base64, if bytes")),
});

/** A recorded step; with what it returned, if that was asked for. */
export interface StepView extends Static<typeof step> {}

export const stepPage = Type.Object({
	steps: Type.Array(step, { description: "In the order they were recorded" }),
	nextCursor,
});

/** Steps in the order they were made; a page may hold fewer than asked for and still have a cursor. */
export interface StepPage extends Static<typeof stepPage> {}
