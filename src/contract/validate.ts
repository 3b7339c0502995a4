import { boundOf } from "./bounds.ts";
import { type Complaint, checkOf, complaintsOf, type Node } from "./checker.ts";
import { FlowFabricError } from "./errors.ts";
import { suggestion } from "./nearest-name.ts";
import type { Static, TSchema } from "./schema.ts";

/** A schema that says no by naming the field, what came, and what is allowed. */
export interface Shape<S extends TSchema> {
	schema: S;
	/** Returns the value typed, or throws `invalid_input`. */
	check(value: unknown): Static<S>;
}

/**
 * Nothing is prepared before the first check: most programs use few of all the shapes there are. Of what is secret as a
 * whole nothing is told that came, not even the name of a field.
 */
export function shape<S extends TSchema>(schema: S, { isSecret = false } = {}): Shape<S> {
	let exceeds: ReturnType<typeof boundOf>;
	let fits: ReturnType<typeof checkOf> | undefined;
	return {
		schema,
		check(value) {
			if (!fits) {
				exceeds = boundOf(schema);
				fits = checkOf(schema);
			}
			// Every field is looked at before one is found that is not known: what is too long never gets there.
			const excess = exceeds?.(value);
			if (excess) throw invalidInput(excess.path, excess.problem);
			if (fits(value)) return value as Static<S>;
			const { path, problem } = describe(mostTelling(complaintsOf(schema, value)), value, isSecret);
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
function mostTelling(complaints: readonly Complaint[]): Complaint {
	const foreign = new Set(
		complaints.filter(({ about, path }) => about === "const" && path.at(-1) === "type").map(({ branch }) => branch),
	);
	const meant = complaints.filter(({ branch }) => !foreign.has(branch));
	const candidates = meant.length > 0 ? meant : complaints;
	return candidates.reduce((best, each) => (each.path.length > best.path.length ? each : best));
}

function describe(
	{ path, field, about, node }: Complaint,
	value: unknown,
	isSecret: boolean,
): { path: string[]; problem: string } {
	if (field !== undefined) {
		const known = Object.keys(node.properties ?? {});
		if (isSecret && about === "unknown")
			return { path: [...path], problem: `has a field that is none of ${known.join(", ")}` };
		const problem = about === "unknown" ? `is not a known field${suggestion(field, known)}` : "is required";
		return { path: [...path, field], problem };
	}
	const allowed = node.allowed ?? wordsOf(node);
	return { path: [...path], problem: isSecret || node.isSecret ? allowed : `${allowed}, got ${show(at(value, path))}` };
}

/** What a schema asks for, where nobody has put it into words. */
function wordsOf({ type, const: only, enum: values, anyOf }: Node): string {
	if (anyOf) return `must be ${anyOf.map((branch) => JSON.stringify(branch.const)).join(" or ")}`;
	if (only !== undefined) return `must be ${JSON.stringify(only)}`;
	if (values) return `must be one of ${values.join(", ")}`;
	return type === undefined ? "is not valid" : `must be ${/^[aio]/.test(type) ? "an" : "a"} ${type}`;
}

function at(value: unknown, path: readonly string[]): unknown {
	return path.reduce<unknown>((node, part) => (node as Record<string, unknown> | undefined)?.[part], value);
}

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
