import { type IdPrefix, SLOTS, slotOfId } from "../kernel/ids.ts";
import { FlowFabricError } from "./errors.ts";

/** What an id of each prefix names. */
const SUBJECTS: Record<IdPrefix, string> = {
	ex: "an execution",
	fl: "a flow",
	wp: "a waitpoint",
	gr: "a grant",
	sg: "a signal",
	su: "a suspension",
	ed: "an edge",
	le: "a lease",
};

/** The half sentence about a malformed id. */
export const idAllowed = (prefix: IdPrefix): string =>
	`must be the id of ${SUBJECTS[prefix]}: ${prefix}_<32 hex>_<slot 0..${SLOTS - 1}>`;

const MOST_SHOWN = 64;

/** The slot inside an id that a caller gave, or `invalid_input` naming the field: no id is taken apart elsewhere. */
export function slotOfGivenId(prefix: IdPrefix, id: unknown, field: string): number {
	const slot = typeof id === "string" ? slotOfId(prefix, id) : undefined;
	if (slot !== undefined) return slot;
	const got = typeof id === "string" ? JSON.stringify(id.slice(0, MOST_SHOWN)) : id === null ? "null" : typeof id;
	throw new FlowFabricError("invalid_input", {
		message: `${field}: ${idAllowed(prefix)}, got ${got}`,
		details: { field },
	});
}
