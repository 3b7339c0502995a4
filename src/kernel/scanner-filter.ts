import { CLAIM_REQUEST_PREFIX } from "./records/claim-request.ts";
import type { ExecutionRecord } from "./records/execution.ts";
import { IDEMPOTENCY_KEY_PREFIX } from "./records/idempotency-key.ts";
import { recordTypeOf } from "./records/record-types.ts";
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

/** Undefined for what is of no namespace. */
function namespaceOf(key: string, record: object): string | undefined {
	switch (recordTypeOf(key)) {
		case "execution":
		case "grant":
		case "ticket":
		case "laneHome":
		case "worker":
			return (record as { namespace: string }).namespace;
		case "idempotencyKey":
			return upToColon(key, IDEMPOTENCY_KEY_PREFIX);
		case "claimRequest":
			return upToColon(key, CLAIM_REQUEST_PREFIX);
		default:
			return undefined;
	}
}

/** Namespaces hold no colon. */
const upToColon = (key: string, prefix: string): string => key.slice(prefix.length, key.indexOf(":", prefix.length));

/** The same text for the same restriction, whatever the order it was given in; empty for none. */
export function filterName({ namespaces, tags }: ScannerFilter): string {
	if (namespaces.length === 0 && tags.length === 0) return "";
	return JSON.stringify([[...namespaces].sort(), tags.map((tag) => tag.join(":")).sort()]);
}
