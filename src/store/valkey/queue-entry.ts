import type { QueuePosition } from "../port.ts";
import { fromText, toText } from "./text.ts";

/** An entry as it stands in its sorted set: the record's key, a null character and the score. */
export const entryOf = ({ key, score }: QueuePosition): string => `${toText(key)}\0${score}`;

export function positionOf(entry: string): QueuePosition {
	const end = entry.lastIndexOf("\0");
	return { key: fromText(entry.slice(0, end)), score: Number(entry.slice(end + 1)) };
}
