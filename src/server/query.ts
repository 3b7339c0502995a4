import type { Static, TSchema } from "../contract/schema.ts";
import type { Shape } from "../contract/validate.ts";
import { invalid } from "./errors.ts";

/** Query strings are text: they become the numbers and booleans the shape asks for, then the shape judges them. */
export function readQuery<S extends TSchema>(query: unknown, shape: Shape<S>): Static<S> {
	const fields = (shape.schema as { properties?: Record<string, { type?: string }> }).properties ?? {};
	const typeOf = (name: string) => (Object.hasOwn(fields, name) ? fields[name]?.type : undefined);
	const given = Object.entries(query as object).map(([name, text]) => [name, typed(text, typeOf(name))]);
	// Not assigned: a field named `__proto__` is to be refused like any other that is unknown.
	return shape.check(Object.fromEntries(given));
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
