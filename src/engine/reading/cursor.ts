import { FlowFabricError } from "../../contract/errors.ts";
import type { QueuePosition } from "../../store/port.ts";

/** What a part of a cursor may be; a position is a number of things passed. */
const isForm = {
	string: (part: unknown) => typeof part === "string",
	number: (part: unknown) => Number.isSafeInteger(part),
	position: (part: unknown) => Number.isSafeInteger(part) && (part as number) >= 0,
};

/** Cursors are opaque to callers: base64url around a short JSON array, with a letter that says what it points into. */
export function encodeCursor(kind: string, parts: (string | number)[]): string {
	return Buffer.from(JSON.stringify([kind, ...parts])).toString("base64url");
}

export function decodeCursor(
	kind: string,
	cursor: string,
	forms: readonly (keyof typeof isForm)[],
): (string | number)[] {
	try {
		const [found, ...parts] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
		if (found === kind && parts.length === forms.length && forms.every((form, n) => isForm[form](parts[n]))) {
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

/** The cursor of a list that follows a queue. */
export const positionCursor = (kind: string, { score, key }: QueuePosition): string => encodeCursor(kind, [score, key]);

export function positionAfter(kind: string, cursor: string | undefined): QueuePosition | undefined {
	if (cursor === undefined) return undefined;
	const [score, key] = decodeCursor(kind, cursor, ["number", "string"]);
	return { score: Number(score), key: String(key) };
}
