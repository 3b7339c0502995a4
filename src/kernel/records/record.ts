/**
 * A record is a plain object whose defaults sit on its prototype: every field can be read, only what differs is an own
 * property, and `JSON.stringify` writes just that. Fields a program does not know stay own properties, so they survive
 * a rewrite by an older version.
 */

/** The key of a record, carrying the record's type. */
export type Key<R> = string & { readonly recordType?: R };

const MAKER = Symbol("makes records with these defaults");

/**
 * Makes `defaults` the prototype of all records of its type. They are made by a constructor rather than `Object.create`:
 * the runtime learns how many fields its objects come to have and gives them room from the start.
 */
export function defineDefaults<R extends object>(defaults: R): R {
	function Maker(): void {}
	Maker.prototype = defaults;
	Object.defineProperty(defaults, MAKER, { value: Maker });
	return defaults;
}

function blank<R extends object>(defaults: R): R {
	const { [MAKER]: Maker } = defaults as { [MAKER]?: new () => R };
	return Maker ? new Maker() : (Object.create(defaults) as R);
}

/** Makes a record of the type of `defaults`; values equal to their default are left out. */
export function makeRecord<R extends object>(defaults: R, fields: Partial<R>): R {
	const record = blank(defaults);
	for (const name in fields) {
		const value = fields[name] as R[typeof name];
		if (value !== undefined && value !== defaults[name]) record[name] = value;
	}
	return record;
}

/** A copy of `record` with `changes`; the original is never touched, since other readers may hold it. */
export function amend<R extends object>(record: R, changes: Partial<R>): R {
	const defaults = Object.getPrototypeOf(record) as R;
	const next = blank(defaults);
	for (const name of Object.keys(record) as (keyof R)[]) if (!(name in changes)) next[name] = record[name];
	for (const name in changes) {
		const value = changes[name] as R[typeof name];
		if (value !== defaults[name]) next[name] = value;
	}
	return next;
}

export function encodeRecord(record: object): string {
	return JSON.stringify(record);
}

export function decodeRecord<R extends object>(defaults: R, doc: string): R {
	const parsed: unknown = JSON.parse(doc);
	if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
		throw new TypeError("record is not an object");
	return Object.assign(blank(defaults), parsed);
}
