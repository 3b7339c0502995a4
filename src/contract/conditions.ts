import { type Condition, type CountCondition, DEEPEST, DISTINCT_BY } from "../kernel/suspension/condition.ts";
import { FlowFabricError } from "./errors.ts";

/**
 * Reads a condition as a caller wrote it, or says which part of it is not one. By hand, since a validator complains of every
 * form that was not meant; whether what it says makes sense is for the kernel.
 */
export const readCondition = (value: unknown): Condition => read(value, "condition", 1);

const FORMS = "signal, anySignal, operatorOnly, timeoutOnly, allOf, anyOf, count";

function read(value: unknown, path: string, depth: number): Condition {
	const node = objectAt(value, path, `must be an object with one of ${FORMS}`);
	const [form, ...others] = Object.keys(node).filter((name) => name !== "waitpoint");
	if (form === undefined || others.length > 0) throw invalid(path, `must have exactly one of ${FORMS}`);
	if ("waitpoint" in node && form !== "signal" && form !== "anySignal")
		throw invalid(`${path}.waitpoint`, `is not a field of ${form}`);
	const at = `${path}.${form}`;
	switch (form) {
		case "signal":
			return { signal: textAt(node.signal, at), ...waitpointOf(node, path) };
		case "anySignal":
			return { anySignal: trueAt(node.anySignal, at), ...waitpointOf(node, path) };
		case "operatorOnly":
			return { operatorOnly: trueAt(node.operatorOnly, at) };
		case "timeoutOnly":
			return { timeoutOnly: trueAt(node.timeoutOnly, at) };
		case "allOf":
			return { allOf: listAt(node.allOf, at, depth) };
		case "anyOf":
			return { anyOf: listAt(node.anyOf, at, depth) };
		case "count":
			return { count: countAt(node.count, at) };
		default:
			throw invalid(at, `is not a known field; a condition has one of ${FORMS}`);
	}
}

const waitpointOf = (node: Record<string, unknown>, path: string): { waitpoint?: string } =>
	node.waitpoint === undefined ? {} : { waitpoint: textAt(node.waitpoint, `${path}.waitpoint`) };

/** One level more than may be is looked at, so that the kernel can say that it is too deep. */
function listAt(value: unknown, path: string, depth: number): Condition[] {
	if (!Array.isArray(value) || value.length > 64) throw invalid(path, "must be an array of 1 to 64 conditions");
	if (depth > DEEPEST)
		throw new FlowFabricError("depth_exceeded", { details: { field: path.replace(/\.\w+$/, ""), limit: DEEPEST } });
	return value.map((each, n) => read(each, `${path}[${n}]`, depth + 1));
}

const COUNT_FIELDS = ["n", "distinctBy", "match", "waitpoints"];

function countAt(value: unknown, path: string): CountCondition {
	const node = objectAt(value, path, "must be {n, distinctBy, match?, waitpoints?}");
	const stranger = Object.keys(node).find((name) => !COUNT_FIELDS.includes(name));
	if (stranger !== undefined) throw invalid(`${path}.${stranger}`, "is not a known field");
	const { n, distinctBy, match, waitpoints } = node;
	if (!Number.isInteger(n) || (n as number) < 0) throw invalid(`${path}.n`, "must be an integer of at least 1");
	if (!DISTINCT_BY.includes(distinctBy as never))
		throw invalid(`${path}.distinctBy`, `must be one of ${DISTINCT_BY.join(", ")}`);
	const read: CountCondition = { n: n as number, distinctBy: distinctBy as CountCondition["distinctBy"] };
	if (match !== undefined) read.match = textAt(match, `${path}.match`);
	if (waitpoints === undefined) return read;
	if (!Array.isArray(waitpoints) || waitpoints.length > 64)
		throw invalid(`${path}.waitpoints`, "must be an array of keys of waitpoints");
	return { ...read, waitpoints: waitpoints.map((each, at) => textAt(each, `${path}.waitpoints[${at}]`)) };
}

function objectAt(value: unknown, path: string, allowed: string): Record<string, unknown> {
	if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(path, allowed);
	return value as Record<string, unknown>;
}

function textAt(value: unknown, path: string): string {
	if (typeof value === "string" && value.length >= 1 && value.length <= 256) return value;
	throw invalid(path, "must be a string of 1 to 256 characters");
}

function trueAt(value: unknown, path: string): true {
	if (value === true) return true;
	throw invalid(path, "must be true");
}

const invalid = (field: string, problem: string): FlowFabricError =>
	new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
