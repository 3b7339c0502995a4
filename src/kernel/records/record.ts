/**
 * A record is a plain object with every field of its type. A document leaves out what has its default value, which is
 * filled in again on reading: documents stay small, and a later version can add fields. Fields a program does not know
 * stay where they are, so they survive a rewrite by an older version.
 *
 * All records of a type have the same fields in the same order: the runtime then finds a field without looking for it.
 * Records whose defaults sat on a prototype were smaller, but took twice as long to change. Executions, which change most,
 * are made and amended by functions of their own (`makeExecution`, `amendExecution`).
 */

/** The key of a record, carrying the record's type. */
export type Key<R> = string & { readonly recordType?: R };

/** Makes a record of the type of `defaults`. */
export const makeRecord = <R extends object>(defaults: R, fields: Partial<R>): R => assign({ ...defaults }, fields);

/** A copy of `record` with `changes`; the original is never touched, since other readers may hold it. */
export const amend = <R extends object>(record: R, changes: Partial<R>): R => assign({ ...record }, changes);

/** One field after the other: for a few of them that is quicker than `Object.assign` or a second spread. */
export function assign<R extends object>(record: R, fields: Partial<R>): R {
	for (const name in fields) record[name] = fields[name] as R[typeof name];
	return record;
}

export function encodeRecord<R extends object>(defaults: R, record: R): string {
	const own: Partial<R> = {};
	for (const name in record) if (record[name] !== defaults[name]) own[name] = record[name];
	return JSON.stringify(own);
}

export const decodeRecord = <R extends object>(defaults: R, doc: string): R => ({ ...defaults, ...parseDocument(doc) });

export function parseDocument(doc: string): Record<string, unknown> {
	const parsed: unknown = JSON.parse(doc);
	if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
		throw new TypeError("record is not an object");
	return parsed as Record<string, unknown>;
}
