import type { Keywords, TSchema } from "./schema.ts";

/** What is read of a node of a schema. */
export interface Node extends Omit<Keywords, "additionalProperties"> {
	type?: string;
	const?: unknown;
	enum?: readonly unknown[];
	anyOf?: Node[];
	items?: Node;
	properties?: Record<string, Node>;
	required?: string[];
	additionalProperties?: boolean | Node;
}

/** One thing that is wrong with a value. */
export interface Complaint {
	/** Where in the value. */
	path: readonly string[];
	/** Which field is missing there, or is not known. */
	field?: string;
	about: "value" | "const" | "required" | "unknown";
	/** The part of the schema that says so. */
	node: Node;
	/** Which branches of unions lead there. */
	branch: string;
}

type Check = (value: unknown) => boolean;

/** A function that says whether a value fits. It is made of one function per node, so that checking reads no schema. */
export const checkOf = (schema: TSchema): Check => checkOfNode(schema as Node);

const made = new WeakMap<Node, Check>();

function checkOfNode(node: Node): Check {
	let check = made.get(node);
	if (!check) made.set(node, (check = makeCheck(node)));
	return check;
}

function makeCheck(node: Node): Check {
	if (node.anyOf) {
		const branches = node.anyOf.map(checkOfNode);
		return (value) => branches.some((fits) => fits(value));
	}
	if (node.enum) {
		const values = new Set(node.enum);
		return (value) => values.has(value);
	}
	if ("const" in node) return (value) => value === node.const;
	switch (node.type) {
		case "string":
			return checkOfString(node);
		case "integer":
			return checkOfNumber(node, Number.isInteger as Check);
		case "number":
			return checkOfNumber(node, Number.isFinite as Check);
		case "array":
			return checkOfArray(node);
		case "object":
			return checkOfObject(node);
		case "boolean":
			return (value) => typeof value === "boolean";
		case "null":
			return (value) => value === null;
		default:
			return () => true;
	}
}

function checkOfString({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern }: Node): Check {
	const form = pattern === undefined ? undefined : new RegExp(pattern, "u");
	return (value) =>
		typeof value === "string" &&
		hasAtLeast(value, minLength) &&
		hasAtMost(value, maxLength) &&
		(form === undefined || form.test(value));
}

/** Characters are code points, which take one or two units each; they are counted only where that decides. */
const hasAtLeast = (text: string, least: number): boolean =>
	text.length >= 2 * least || (text.length >= least && codePoints(text) >= least);
const hasAtMost = (text: string, most: number): boolean =>
	text.length <= most || (text.length <= 2 * most && codePoints(text) <= most);

function codePoints(text: string): number {
	let count = 0;
	for (const _ of text) count++;
	return count;
}

function checkOfNumber(node: Node, isOne: Check): Check {
	const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = node;
	return (value) => isOne(value) && (value as number) >= minimum && (value as number) <= maximum;
}

function checkOfArray({ items, minItems = 0, maxItems = Number.POSITIVE_INFINITY }: Node): Check {
	const fits = items && checkOfNode(items);
	return (value) => {
		if (!Array.isArray(value) || value.length < minItems || value.length > maxItems) return false;
		if (fits) for (const item of value) if (!fits(item)) return false;
		return true;
	};
}

const isObject = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

function checkOfObject(node: Node): Check {
	const { properties = {}, required = [], additionalProperties = true } = node;
	const { maxProperties = Number.POSITIVE_INFINITY } = node;
	const checks = Object.entries(properties).map(([name, property]) => ({
		name,
		isRequired: required.includes(name),
		fits: checkOfNode(property),
	}));
	const known = new Map(checks.map((check) => [check.name, check]));
	const fitsOther =
		typeof additionalProperties === "object" ? checkOfNode(additionalProperties) : () => additionalProperties;
	const fitsAll = (value: Record<string, unknown>): boolean => {
		for (const { name, isRequired, fits } of checks) {
			const given = value[name];
			if (given === undefined ? isRequired && !(name in value && fits(given)) : !fits(given)) return false;
		}
		const others = Object.keys(value).filter((name) => !known.has(name));
		return Object.keys(value).length <= maxProperties && others.every((name) => fitsOther(value[name]));
	};
	// Few of the fields that may be there are: going through those that are is several times as fast.
	return (value) => {
		if (!isObject(value)) return false;
		if (Object.getPrototypeOf(value) !== Object.prototype) return fitsAll(value);
		let count = 0;
		let requiredCount = 0;
		for (const name in value) {
			const given = value[name];
			const check = known.get(name);
			if (++count > maxProperties) return false;
			if (!check) {
				if (!fitsOther(given)) return false;
			} else if (check.isRequired) {
				if (!check.fits(given)) return false;
				requiredCount++;
			} else if (given !== undefined && !check.fits(given)) return false;
		}
		return requiredCount === required.length;
	};
}

/** Enough of them to find the one that says most; a value may have any number. */
const MOST_COMPLAINTS = 8;

/** What is wrong with a value, in the order of the schema. */
export function complaintsOf(schema: TSchema, value: unknown): Complaint[] {
	const found: Complaint[] = [];
	complain(schema as Node, value, { path: [], branch: "", found });
	return found.slice(0, MOST_COMPLAINTS);
}

interface Place {
	path: readonly string[];
	branch: string;
	found: Complaint[];
}

function complain(node: Node, value: unknown, place: Place): void {
	if (place.found.length >= MOST_COMPLAINTS || checkOfNode(node)(value)) return;
	// Of a choice of words none is meant more than another.
	if (node.anyOf?.every((branch) => "const" in branch)) say(place, node, "value");
	else if (node.anyOf) {
		for (const [n, each] of node.anyOf.entries()) complain(each, value, { ...place, branch: `${place.branch}/${n}` });
	} else if ("const" in node) say(place, node, "const");
	else if (node.type === "array" && Array.isArray(value)) complainOfArray(node, value, place);
	else if (node.type === "object" && isObject(value)) complainOfObject(node, value, place);
	else say(place, node, "value");
}

function complainOfArray(node: Node, value: readonly unknown[], place: Place): void {
	if (node.items) for (const [n, item] of value.entries()) complain(node.items, item, within(place, String(n)));
	const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = node;
	if (value.length < minItems || value.length > maxItems) say(place, node, "value");
}

function complainOfObject(node: Node, value: Record<string, unknown>, place: Place): void {
	const { properties = {}, required = [], additionalProperties = true } = node;
	const names = Object.keys(value);
	for (const name of required) if (!(name in value)) say(place, node, "required", name);
	const others = names.filter((name) => !Object.hasOwn(properties, name));
	if (additionalProperties === false) for (const name of others) say(place, node, "unknown", name);
	for (const [name, property] of Object.entries(properties))
		if (value[name] !== undefined || (name in value && required.includes(name)))
			complain(property, value[name], within(place, name));
	if (typeof additionalProperties === "object")
		for (const name of others) complain(additionalProperties, value[name], within(place, name));
	if (names.length > (node.maxProperties ?? Number.POSITIVE_INFINITY)) say(place, node, "value");
}

function say({ path, branch, found }: Place, node: Node, about: Complaint["about"], field?: string): void {
	found.push({ path, about, node, branch, ...(field === undefined ? undefined : { field }) });
}

const within = ({ path, branch, found }: Place, name: string): Place => ({ path: [...path, name], branch, found });
