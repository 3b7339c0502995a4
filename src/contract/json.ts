import { FlowFabricError } from "./errors.ts";

/**
 * A payload as JSON text. What JSON would drop or change is refused by its path, so that a handler is given what was
 * submitted: NaN would come as null, a Map as {}, a function not at all. A property that is undefined is left out, which
 * says the same; what has a `toJSON` of its own, such as a Date, is what that gives.
 */
export function toJson(field: string, value: unknown): string {
	const text = requestJson(field, value);
	let unfit: Unfit | undefined;
	try {
		unfit = unfitPart(value, { mayLack: field === "result" });
	} catch (error) {
		throw invalid(field, `cannot be written as JSON: ${(error as Error).message}`);
	}
	if (unfit) throw notJson(field, unfit);
	return text;
}

/** A whole request as JSON text; whoever reads it checks its fields. */
export function requestJson(field: string, value: unknown): string {
	try {
		const text = JSON.stringify(value);
		if (text !== undefined) return text;
	} catch (error) {
		const unfit = unfitPart(value, { mayLack: true, seen: new Set() });
		if (unfit) throw notJson(field, unfit);
		throw invalid(field, `cannot be written as JSON: ${(error as Error).message}`);
	}
	throw notJson(field, { path: "", what: described(value) ?? "this" });
}

/** A part of a value that JSON cannot hold: where it is, and what. */
interface Unfit {
	path: string;
	what: string;
}

const notJson = (field: string, { path, what }: Unfit): FlowFabricError => invalid(field + path, `${what} is not JSON`);

const invalid = (field: string, problem: string): FlowFabricError =>
	new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });

interface Search {
	/**
	 * Whether an item of a list may be undefined, which is kept as null. What a handler or a step returns may: that is what
	 * `Promise.all` gives for functions that return nothing, and their work is done.
	 */
	mayLack: boolean;
	/** Given for what may lead back to itself. */
	seen?: Set<object>;
}

function unfitPart(value: unknown, search: Search): Unfit | undefined {
	if (typeof value !== "object" || value === null) {
		const what = described(value);
		return what === undefined ? undefined : { path: "", what };
	}
	if (search.seen?.has(value)) return undefined;
	search.seen?.add(value);
	if (Array.isArray(value)) {
		for (let n = 0; n < value.length; n++) {
			const item: unknown = value[n];
			const unfit = item === undefined && search.mayLack ? undefined : unfitPart(item, search);
			if (unfit) return { path: `[${n}]${unfit.path}`, what: unfit.what };
		}
		return undefined;
	}
	const what = describedObject(value);
	if (what !== undefined) return what === "" ? undefined : { path: "", what };
	for (const name in value) {
		if (!Object.hasOwn(value, name)) continue;
		const member = (value as Record<string, unknown>)[name];
		if (member === undefined) continue;
		const unfit = unfitPart(member, search);
		if (unfit) return { path: partOf(name) + unfit.path, what: unfit.what };
	}
	return undefined;
}

/** What no JSON can hold, in words; undefined for what it can. */
function described(value: unknown): string | undefined {
	switch (typeof value) {
		case "number":
			return Number.isFinite(value) ? undefined : String(value);
		case "bigint":
			return "a BigInt";
		case "function":
		case "symbol":
			return `a ${typeof value}`;
		case "undefined":
			return "undefined";
		default:
			return undefined;
	}
}

/** The same of an object; undefined for one whose fields are to be looked at, empty for one that JSON holds whole. */
function describedObject(value: object): string | undefined {
	if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
		if (value instanceof Date && Number.isNaN(value.getTime())) return "an invalid Date";
		return value instanceof Uint8Array ? BYTES : "";
	}
	const prototype: unknown = Object.getPrototypeOf(value);
	if (prototype === Object.prototype || prototype === null) return undefined;
	if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return BYTES;
	const tag = Object.prototype.toString.call(value).slice("[object ".length, -1);
	if (tag === "Object") return undefined;
	if (tag === "Number" || tag === "String" || tag === "Boolean") return "";
	return `${/^[AEIO]/.test(tag) ? "an" : "a"} ${tag}`;
}

const BYTES = "bytes within a value (write them as base64)";

const partOf = (name: string): string =>
	/^[A-Za-z_$][\w$]{0,63}$/.test(name) ? `.${name}` : `[${JSON.stringify(name.slice(0, 64))}]`;
