import { type Placement, placement } from "./placement.ts";
import { decode } from "./records/record-types.ts";

/**
 * The number of the format this program writes. It is raised when a document's meaning changes, and whenever `placement`
 * gives another answer for the same record; a store with a lower number is migrated and its index built anew on opening.
 */
export const FORMAT = 2;

/** One function per step: `migrations[n]` turns a document of format n into one of n + 1. */
const migrations: Record<number, (key: string, doc: string) => string> = {};

export function migrate(from: number, key: string, doc: string): string {
	let current = doc;
	for (let format = from; format < FORMAT; format++) current = migrations[format]?.(key, current) ?? current;
	return current;
}

export function indexOf(key: string, doc: string): Placement[] {
	try {
		return placement(key, decode(key, doc));
	} catch {
		return [];
	}
}
