import { FlowFabricError } from "../../contract/errors.ts";
import { TRIM_STEP_MS } from "../duties/event-trimmer.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";

/** How far a reader has come in one partition's log. */
export interface FeedPosition {
	commit: number;
	index: number;
	/** Everything behind this position happened at this time or later. */
	since: number;
	/** Events older than this may have been gone already when the position was taken. */
	trimmedBefore: number;
}

/** Comes behind every event of its commit. */
export const LAST_INDEX = 2 ** 24;

const FIELDS = 4;
const RADIX = 36;

/** Times are kept as hours, the steps in which events are let go; that keeps a cursor over many partitions short. */
export function encodeFeedCursor(positions: readonly FeedPosition[]): string {
	const numbers = positions.flatMap(({ commit, index, since, trimmedBefore }) => [
		commit,
		index,
		Math.floor(since / TRIM_STEP_MS),
		Math.floor(trimmedBefore / TRIM_STEP_MS),
	]);
	return encodeCursor("f", [numbers.map((number) => number.toString(RADIX)).join(".")]);
}

/** A cursor of a store with other partitions points into a log that is not this one. */
export function decodeFeedCursor(cursor: string, partitions: number): FeedPosition[] {
	const [text] = decodeCursor("f", cursor, ["string"]);
	const numbers = String(text)
		.split(".")
		.map((part) => (/^[0-9a-z]{1,11}$/.test(part) ? Number.parseInt(part, RADIX) : Number.NaN));
	if (numbers.length % FIELDS !== 0 || !numbers.every(Number.isSafeInteger)) {
		throw new FlowFabricError("invalid_input", {
			message: 'cursor: must be "start", "end" or a nextCursor of an earlier page',
			details: { field: "cursor" },
		});
	}
	if (numbers.length !== FIELDS * partitions) throw cursorExpired();
	return Array.from({ length: partitions }, (_, n) => {
		const [commit = 0, index = 0, since = 0, trimmed = 0] = numbers.slice(FIELDS * n, FIELDS * (n + 1));
		return { commit, index, since: since * TRIM_STEP_MS, trimmedBefore: trimmed * TRIM_STEP_MS };
	});
}

export const cursorExpired = (): FlowFabricError => new FlowFabricError("cursor_expired");
