import { namespaceOf, recordTypeOf } from "./record-types.ts";
import type { ExecutionRecord } from "./records/execution.ts";
import { hasTag } from "./tags.ts";

/** What the scanners of an engine are restricted to; an empty list restricts nothing. */
export interface ScannerFilter {
	namespaces: readonly string[];
	/** An execution needs one of them. */
	tags: readonly (readonly [key: string, value: string])[];
}

/** Whether scanners may act on a record. Only executions carry tags, so for all else only its namespace counts. */
export function isWithin({ namespaces, tags }: ScannerFilter, key: string, record: object): boolean {
	const namespace = namespaceOf(key, record);
	if (namespaces.length > 0 && namespace !== undefined && !namespaces.includes(namespace)) return false;
	if (tags.length === 0 || recordTypeOf(key) !== "execution") return true;
	const { tags: carried } = record as ExecutionRecord;
	return tags.some(([name, value]) => hasTag(carried, name, value));
}

/** Whether scanners may act for a namespace. */
export const isOfFilter = (filter: ScannerFilter | undefined, namespace: string): boolean =>
	!filter || filter.namespaces.length === 0 || filter.namespaces.includes(namespace);

/** The same text for the same restriction, whatever the order it was given in; empty for none. */
export function filterName({ namespaces, tags }: ScannerFilter): string {
	if (namespaces.length === 0 && tags.length === 0) return "";
	return JSON.stringify([[...namespaces].sort(), tags.map((tag) => tag.join(":")).sort()]);
}
