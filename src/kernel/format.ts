import { readRecord } from "./inspect.ts";
import type { Placement } from "./placement.ts";
import { decode, encode, placement, recordTypeOf } from "./record-types.ts";

/**
 * The number of the format this program writes. It is raised when a document's meaning changes, and whenever `placement`
 * gives another answer for the same record; a store with a lower number is migrated and its index built anew on opening.
 */
export const FORMAT = 7;

/** One function per step: `migrations[n]` turns a document of format n into one of n + 1. */
const migrations: Record<number, (key: string, doc: string) => string> = {
	// An execution's document was its record as JSON, which is read as well.
	2: (key, doc) => (recordTypeOf(key) === "execution" ? encode(key, decode(key, doc)) : doc),
	3: (_key, doc) => doc,
	// Work under budgets and quotas stands in queues that programs of format 4 do not know: they would run it unasked.
	4: (_key, doc) => doc,
	// Programs of format 5 know nothing of suspended work: they would neither time it out nor let anybody resume it.
	5: (_key, doc) => doc,
	// Programs of format 6 know nothing of flows: what they end would release nothing.
	6: (_key, doc) => doc,
};

export function migrate(from: number, key: string, doc: string): string {
	let current = doc;
	try {
		for (let format = from; format < FORMAT; format++) current = migrations[format]?.(key, current) ?? current;
	} catch {
		// What cannot be read stays as it is, for somebody to look at.
	}
	return current;
}

export function indexOf(key: string, doc: string): Placement[] {
	try {
		return placement(key, readRecord(key, doc));
	} catch {
		return [];
	}
}
