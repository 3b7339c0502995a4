import type { IdPrefix } from "../kernel/ids.ts";
import { idAllowed } from "./ids.ts";
import { type TInteger, type TString, Type } from "./schema.ts";

/** The fields requests are made of. `allowed` is the half sentence an error message ends with. */

export const MAX_DELAY_MS = 10 * 365 * 86_400_000;
const MAX_TIME = 8_640_000_000_000_000;

export function integer(minimum: number, maximum: number, description: string): TInteger {
	return Type.Integer({ minimum, maximum, description, allowed: `must be an integer from ${minimum} to ${maximum}` });
}

export function text(minLength: number, maxLength: number, description: string): TString {
	return Type.String({
		minLength,
		maxLength,
		description,
		allowed: `must be a string of ${minLength} to ${maxLength} characters`,
	});
}

/** Text that names a queue: not every store could list one with half a character in it. */
export function wellFormedText(minLength: number, maxLength: number, description: string): TString {
	return Type.String({
		minLength,
		maxLength,
		pattern: "^\\P{Cs}*$",
		description,
		allowed: `must be a string of ${minLength} to ${maxLength} characters, none of them a lone surrogate`,
	});
}

export function duration(minimum: number, description: string): TInteger {
	return Type.Integer({
		minimum,
		maximum: MAX_DELAY_MS,
		description,
		allowed: `must be an integer number of milliseconds from ${minimum} to ${MAX_DELAY_MS} (ten years)`,
	});
}

export const namespace = Type.String({
	pattern: "^[A-Za-z0-9._-]{1,64}$",
	description: "Tenant; nothing crosses it (default, or the one that the token is bound to)",
	allowed: "must be 1 to 64 characters of A-Z a-z 0-9 . _ -",
});

export const lane = Type.String({
	pattern: "^[\\x20-\\x2b\\x2d-\\x7e]{1,64}$",
	description: "Queue the work waits in; created by first use",
	allowed: "must be 1 to 64 printable ASCII characters without comma",
});

export const kind = wellFormedText(1, 256, "Which handler runs it");

const id = (prefix: IdPrefix, description: string): TString =>
	Type.String({ pattern: `^${prefix}_[0-9a-f]{32}_(0|[1-9][0-9]{0,4})$`, description, allowed: idAllowed(prefix) });

export const executionId = id("ex", "Id of an execution");

export const priority = Type.Integer({
	minimum: Number.MIN_SAFE_INTEGER,
	maximum: Number.MAX_SAFE_INTEGER,
	description: "Higher runs first; clamped to 0..9000",
	allowed: "must be an integer (clamped to 0..9000)",
});

export const moment = (description: string): TInteger => integer(0, MAX_TIME, description);

export const time = moment("Unix milliseconds of the store's clock");

export const contentType = Type.String({
	pattern: "^[\\x21-\\x7e][\\x20-\\x7e]{0,254}$",
	description: "Media type of the bytes",
	allowed: "must be a media type of 1 to 255 printable ASCII characters",
});

export const name = Type.String({
	pattern: "^[^\\x00-\\x1f\\x7f]{1,256}$",
	description: "A name",
	allowed: "must be a string of 1 to 256 characters without control characters",
});

export const category = Type.String({
	pattern: "^[^\\x00-\\x1f\\x7f]{1,64}$",
	description: "Kind of failure",
	allowed: "must be a string of 1 to 64 characters without control characters",
});

/** A comma joins tokens and whitespace parts words; both would make one token look like two. */
const capability = Type.String({
	pattern: "^[^,\\s\\u0000-\\u001f\\u007f-\\u009f]+$",
	description: "Something a worker offers or work needs",
	allowed: "must be a non-empty capability without comma, whitespace or control characters",
});

export const capabilities = (description: string) =>
	Type.Array(capability, { maxItems: 256, description, allowed: "must be an array of at most 256 capabilities" });

/** What the pattern leaves to be checked: that four characters each make a group. */
export const BASE64_FORM = "must be padded base64";

export const base64 = Type.String({
	// One step per character: a pattern of groups of four would fill the stack of whoever matches a long text.
	pattern: "^[A-Za-z0-9+/]*={0,2}$",
	description: "Bytes as base64",
	allowed: BASE64_FORM,
});

export const fence = Type.Object(
	{
		leaseId: Type.String({
			minLength: 1,
			maxLength: 64,
			description: "Id of the lease",
			allowed: "must be the lease's id",
		}),
		epoch: integer(1, Number.MAX_SAFE_INTEGER, "Epoch of the lease"),
	},
	{
		additionalProperties: false,
		description: "The lease the call is made under; without it the call is refused",
		allowed: "must be {leaseId, epoch}",
	},
);

/** Which part of a list is asked for. */
export const page = {
	limit: Type.Optional(integer(1, 1000, "Maximum per page (100)")),
	cursor: Type.Optional(text(1, 4096, "The nextCursor of the previous page")),
};
export const DEFAULT_LIMIT = 100;
