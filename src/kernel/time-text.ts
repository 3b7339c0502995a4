/** The last moment that has a date. */
const LAST = 8.64e15;

/** A time for people. A damaged record may hold one that no calendar has: that is shown as the number it is. */
export const timeText = (at: number): string => (Math.abs(at) <= LAST ? new Date(at).toISOString() : String(at));
