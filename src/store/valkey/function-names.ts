/**
 * Raised with every release that changes `functions.lua` or the format of records. The functions' names carry it, so that
 * a program never calls a function that takes its arguments otherwise than it thinks.
 */
export const LIBRARY_VERSION = 2;

export const FUNCTIONS = [
	"start",
	"commit",
	"read",
	"ask",
	"behind",
	"events",
	"history",
	"trim",
	"watch",
	"sweep",
] as const;

export type FunctionName = (typeof FUNCTIONS)[number];

/** A function's name in the server. */
export const functionName = (name: FunctionName): string => `ff${LIBRARY_VERSION}_${name}`;
