import type { Static, TSchema } from "../contract/schema.ts";
import type { Shape } from "../contract/validate.ts";
import { invalid } from "./errors.ts";

/** Query strings are text: they become the numbers and booleans the shape asks for, then the shape judges them. */
export function readQuery<S extends TSchema>(query: unknown, shape: Shape<S>): Static<S> {
	const fields = (shape.schema as { properties?: Record<string, { type?: string }> }).properties ?? {};
	const given: Record<string, unknown> = {};
	for (const [name, text] of Object.entries(query as Record<string, unknown>)) {
		given[name] = typed(text, Object.hasOwn(fields, name) ? fields[name]?.type : undefined);
	}
	return shape.check(given);
}

function typed(text: unknown, type: string | undefined): unknown {
	if (typeof text !== "string") return text;
	if ((type === "integer" || type === "number") && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
	if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
	return text;
}

/** For routes that take none. */
export function refuseQuery(query: unknown): void {
	for (const name in query as object)
		throw invalid(name.slice(0, 64), "is not a known field: this route takes no query");
}
