import type { Counts } from "../../store/transfer/line.ts";

/** What a back-up holds, in words. */
export const countsText = ({ records, blobs, events }: Counts): string =>
	[counted(records, "record"), counted(blobs, "payload"), counted(events, "event")].join(", ");

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
