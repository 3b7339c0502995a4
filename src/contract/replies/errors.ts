import { ERRORS, type ErrorCode } from "../../kernel/errors.ts";
import { type Static, Type } from "../schema.ts";
import { flag, one, text } from "./parts.ts";

export const errorCode = one(Object.keys(ERRORS) as ErrorCode[], "What was refused, for programs");

export const error = Type.Object(
	{
		code: errorCode,
		message: text("Names the field and what was wrong"),
		retryable: flag("Whether the same call may succeed later"),
		details: Type.Optional(
			Type.Record(Type.Unknown(), { description: "More for programs, such as the field or the limit; by code" }),
		),
	},
	{ description: "Why it was refused" },
);

/** A refusal as it stands in a reply. */
export interface ErrorBody extends Static<typeof error> {}

/** The body of every refusal. */
export const errorReply = Type.Object({ error });
