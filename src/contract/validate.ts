import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { boundOf } from "./bounds.ts";
import { FlowFabricError } from "./errors.ts";

/** A schema that says no by naming the field, what came, and what is allowed. */
export interface Shape<S extends TSchema> {
	schema: S;
	/** Returns the value typed, or throws `invalid_input`. */
	check(value: unknown): Static<S>;
}

type SchemaError = ReturnType<Validator["Errors"]>[number];

export function shape<S extends TSchema>(schema: S): Shape<S> {
	const validator = Compile(schema);
	const exceeds = boundOf(schema);
	return {
		schema,
		check(value) {
			// The validator goes through all there is, and again for its errors: what is too long never reaches it.
			const excess = exceeds?.(value);
			if (excess) throw invalidInput(excess.path, excess.problem);
			if (validator.Check(value)) return value as Static<S>;
			const { path, problem } = describe(mostTelling(validator.Errors(value), value), schema, value);
			throw invalidInput(path, problem);
		},
	};
}

function invalidInput(path: readonly string[], problem: string): FlowFabricError {
	const field = join(path);
	return new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
}

/**
 * A union reports the complaints of every branch; the branch whose `type` fits is the one that was meant, and in it the
 * deepest complaint says most.
 */
function mostTelling(errors: SchemaError[], value: unknown): SchemaError {
	const plain = errors.filter((e) => e.keyword !== "anyOf" && e.keyword !== "boolean");
	const foreign = new Set(
		plain.filter((e) => e.keyword === "const" && e.instancePath.endsWith("/type")).map((e) => branchOf(e)),
	);
	const meant = plain.filter((e) => !foreign.has(branchOf(e)));
	const candidates = meant.length > 0 ? meant : plain.length > 0 ? plain : errors;
	return candidates.reduce((best, e) => (depth(e) > depth(best) ? e : best), candidates[0] ?? fallback(value));
}

const branchOf = (error: SchemaError): string => /^(.*\/anyOf\/\d+)/.exec(error.schemaPath)?.[1] ?? "";
const depth = (error: SchemaError): number => error.instancePath.split("/").length;
const fallback = (value: unknown): SchemaError =>
	({
		keyword: "type",
		schemaPath: "#",
		instancePath: "",
		params: { type: typeof value },
		message: "is not valid",
	}) as never;

function describe(error: SchemaError, schema: TSchema, value: unknown): { path: string[]; problem: string } {
	const path = error.instancePath.split("/").slice(1).map(unescapePart);
	const params = error.params as { additionalProperties?: string[]; requiredProperties?: string[] };
	const [unknown] = params.additionalProperties ?? [];
	if (error.keyword === "additionalProperties" && unknown !== undefined) {
		return { path: [...path, unknown], problem: "is not a known field" };
	}
	const [missing] = params.requiredProperties ?? [];
	if (error.keyword === "required" && missing !== undefined) {
		return { path: [...path, missing], problem: "is required" };
	}
	const node = nodeAt(schema, error.schemaPath) as { allowed?: string; isSecret?: true } | undefined;
	const allowed = node?.allowed ?? error.message;
	if (node?.isSecret) return { path, problem: allowed };
	return { path, problem: `${allowed}, got ${show(at(value, path))}` };
}

function nodeAt(schema: unknown, pointer: string): unknown {
	return at(schema, pointer.split("/").slice(1).map(unescapePart));
}

function at(value: unknown, path: string[]): unknown {
	return path.reduce<unknown>((node, part) => (node as Record<string, unknown> | undefined)?.[part], value);
}

const unescapePart = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");

/** Names that callers made up are told as far as they are recognised. */
const MOST_NAME_CHARS = 64;

/** The field named when nothing within the request is at fault, but all of it. */
export const WHOLE_REQUEST = "request";

function join(path: readonly string[]): string {
	let text = "";
	for (const part of path) {
		const name = part.length > MOST_NAME_CHARS ? `${part.slice(0, MOST_NAME_CHARS)}…` : part;
		text += /^\d+$/.test(name) ? `[${name}]` : text ? `.${name}` : name;
	}
	return text || WHOLE_REQUEST;
}

/** Enough of a value to recognise it, never all of it: it may be large, or a secret. */
function show(value: unknown): string {
	if (value === undefined) return "nothing";
	if (typeof value === "number" || typeof value === "boolean" || value === null) return String(value);
	if (typeof value === "string")
		return value.length > 40 ? `a string of ${value.length} characters` : JSON.stringify(value);
	return Array.isArray(value) ? `an array of ${value.length}` : `a value of type ${typeof value}`;
}
