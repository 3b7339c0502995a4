import type { LogPosition } from "../../store/port.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";

/** Cursors into the history of one execution or flow; `kind` is the letter of which. */

export function positionIn(kind: string, cursor: string | undefined): LogPosition | undefined {
	if (cursor === undefined) return undefined;
	const [commit, index] = decodeCursor(kind, cursor, ["position", "position"]);
	return { commit: Number(commit), index: Number(index) };
}

/** Behind a position, or before the first. */
export const cursorAt = (kind: string, position: LogPosition | undefined): string =>
	encodeCursor(kind, [position?.commit ?? 0, position?.index ?? 0]);
