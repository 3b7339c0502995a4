import { ERRORS, type ErrorCode } from "../../kernel/errors.ts";
import { type Static, Type } from "../schema.ts";
import { one } from "./parts.ts";

export const errorCode = one(Object.keys(ERRORS) as ErrorCode[]);

export const error = Type.Object({
	code: errorCode,
	message: Type.String({ description: "Names the field and what was wrong" }),
	retryable: Type.Boolean({ description: "Whether the same call may succeed later" }),
	details: Type.Optional(Type.Record(Type.Unknown())),
});

/** A refusal as it stands in a reply. */
export interface ErrorBody extends Static<typeof error> {}

/** The body of every refusal. */
export const errorReply = Type.Object({ error });
