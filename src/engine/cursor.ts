import { FlowFabricError } from "../contract/errors.ts";

/** Cursors are opaque to callers: base64url around a short JSON array, with a letter that says what it points into. */
export function encodeCursor(kind: string, parts: (string | number)[]): string {
	return Buffer.from(JSON.stringify([kind, ...parts])).toString("base64url");
}

export function decodeCursor(kind: string, cursor: string, forms: ("string" | "number")[]): (string | number)[] {
	try {
		const [found, ...parts] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
		if (found === kind && parts.length === forms.length && parts.every((part, n) => typeof part === forms[n])) {
			return parts as (string | number)[];
		}
	} catch {
		// Said below.
	}
	throw new FlowFabricError("invalid_input", {
		message: "cursor: must be a nextCursor of an earlier page of the same list",
		details: { field: "cursor" },
	});
}
