import { kindOf, type RecordFault } from "./unreadable.ts";

/**
 * What the parts of a record must be for rules, placement and views to rely on them: JSON that parses may still be wrong
 * one level down. A shape is declared beside the defaults of its record, and says only what a reader would stumble over;
 * fields it does not name are left alone, since a later version may have put them there. It gives the fault it finds: the
 * path to it and what is wrong, or undefined.
 */
export type Shape = (value: unknown) => RecordFault | undefined;

/** Shapes of the fields of a record that hold more than a text, a number or a flag. */
export type Shapes<R> = { readonly [N in keyof R]?: Shape };

const must = (be: string, value: unknown): RecordFault => ({
	field: "",
	problem: `must be ${be}, is ${kindOf(value)}`,
});

/** A fault of a part, as one of what it is a part of. */
export const within = (field: string, { field: rest, problem }: RecordFault): RecordFault => ({
	field: rest === "" ? field : `${field}.${rest}`,
	problem,
});

/** Numbers that JSON cannot hold never come from one, but for those too large for any. */
export const number: Shape = (value) =>
	typeof value === "number" && value - value === 0 ? undefined : must("a number", value);

export const text: Shape = (value) => (typeof value === "string" ? undefined : must("a string", value));

export const flag: Shape = (value) => (typeof value === "boolean" ? undefined : must("true or false", value));

/** Anything, as long as it is there as a table. */
export const object: Shape = (value) => (isTable(value) ? undefined : must("an object", value));

const isTable = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

export const oneOf =
	(...shapes: readonly Shape[]): Shape =>
	(value) => {
		let fault: RecordFault | undefined;
		for (const shape of shapes) {
			fault = shape(value);
			if (!fault) return undefined;
		}
		return fault;
	};

export const list =
	(item: Shape): Shape =>
	(value) => {
		if (!Array.isArray(value)) return must("a list", value);
		for (let n = 0; n < value.length; n++) {
			const fault = item(value[n]);
			if (fault) return within(String(n), fault);
		}
		return undefined;
	};

/** A list of as many values as there are shapes. */
export const tuple =
	(...items: readonly Shape[]): Shape =>
	(value) => {
		if (!Array.isArray(value)) return must("a list", value);
		for (let n = 0; n < items.length; n++) {
			const fault = items[n]?.(value[n]);
			if (fault) return within(String(n), fault);
		}
		return undefined;
	};

/** An object whose values, under whatever names, are all of one shape. */
export const table =
	(item: Shape): Shape =>
	(value) => {
		if (!isTable(value)) return must("an object", value);
		for (const name in value) {
			const fault = item(value[name]);
			if (fault) return within(name, fault);
		}
		return undefined;
	};

/** An object with these fields, and perhaps with those. */
export function part(fields: Readonly<Record<string, Shape>>, optional: Readonly<Record<string, Shape>> = {}): Shape {
	const checks = [
		...Object.entries(fields).map(([name, shape]) => ({ name, shape, isOptional: false })),
		...Object.entries(optional).map(([name, shape]) => ({ name, shape, isOptional: true })),
	];
	return (value) => {
		if (!isTable(value)) return must("an object", value);
		for (let n = 0; n < checks.length; n++) {
			const { name, shape, isOptional } = checks[n] as (typeof checks)[number];
			const found = value[name];
			if (found === undefined && isOptional) continue;
			const fault = shape(found);
			if (fault) return within(name, fault);
		}
		return undefined;
	};
}
