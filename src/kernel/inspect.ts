import { decode, recordTypeOf, typeOfKey } from "./record-types.ts";
import { type CursorKeyRecord, isUsable } from "./records/cursor-key.ts";
import type { ExecutionRecord } from "./records/execution.ts";
import { isWhole, isWholeKey, type KeyringRecord } from "./records/keyring.ts";
import { type Shape, within } from "./shape.ts";
import { PUBLIC_STATES, publicState } from "./state.ts";
import { kindOf, type RecordFault, UnreadableRecord } from "./unreadable.ts";

/** A store gives no document where it has one that it cannot read. */
const ON_DAMAGED_PAGE = "cannot be read from the store, which is damaged there";

/** The record a document holds, every field of the kind its type says; a type of a later version is taken as it is. */
export function readRecord(key: string, doc: string): object {
	const type = typeOfKey(key);
	let record: object;
	try {
		record = decode(key, doc);
	} catch {
		throw new UnreadableRecord({ field: "", problem: doc === "" ? ON_DAMAGED_PAGE : "is not a JSON object" });
	}
	if (!type) return record;
	for (const { field, usual, form, shape } of fieldsOf(type)) {
		const value = (record as Record<string, unknown>)[field];
		// What stands in for a field that is not there is in order.
		if (value === usual) continue;
		if (!fits(value, form)) {
			const problem = `must be ${form === "any" ? "null, an object or a list" : kindOf(usual)}, is ${kindOf(value)}`;
			throw new UnreadableRecord({ field, problem });
		}
		const fault = shape?.(value);
		if (fault) throw new UnreadableRecord(within(field, fault));
	}
	const fault = recordTypeOf(key) === "execution" ? executionFault(key, record as ExecutionRecord) : undefined;
	if (fault) throw new UnreadableRecord(fault);
	return record;
}

/** What is wrong with a document; undefined when it is in order. */
export function faultOf(key: string, doc: string): RecordFault | undefined {
	try {
		const record = readRecord(key, doc);
		const type = recordTypeOf(key);
		if (type === "cursorKey") return cursorKeyFault(record as CursorKeyRecord);
		return type === "keyring" ? keyringFault(record as KeyringRecord) : undefined;
	} catch (error) {
		if (error instanceof UnreadableRecord) return error.fault;
		throw error;
	}
}

function executionFault(key: string, record: ExecutionRecord): RecordFault | undefined {
	if (record.id !== key) return { field: "id", problem: "is not that of its key" };
	const state = publicState(record);
	if (PUBLIC_STATES.includes(state)) return undefined;
	const field = record.lifecyclePhase === "terminal" ? "terminalOutcome" : "lifecyclePhase";
	return { field, problem: `${JSON.stringify(record[field])} is not known` };
}

/** One that was written by halves can be read, and is mended by the next engine that starts. */
function keyringFault(ring: KeyringRecord): RecordFault | undefined {
	if (isWhole(ring)) return undefined;
	const isTorn = !ring.keys.every(isWholeKey);
	return isTorn
		? { field: "keys", problem: "holds a key without a usable secret" }
		: { field: "current", problem: "names no key that could sign" };
}

const cursorKeyFault = (key: CursorKeyRecord): RecordFault | undefined =>
	isUsable(key) ? undefined : { field: "secretHex", problem: "is no usable secret" };

/** What a field holds; one that is null by default holds objects or lists otherwise. */
type Form = "string" | "number" | "boolean" | "object" | "list" | "any";

interface Field {
	field: string;
	usual: unknown;
	form: Form;
	shape: Shape | undefined;
}

type RecordTypeEntry = NonNullable<ReturnType<typeof typeOfKey>>;

const known = new Map<RecordTypeEntry, readonly Field[]>();

function fieldsOf(type: RecordTypeEntry): readonly Field[] {
	const there = known.get(type);
	if (there) return there;
	const shapes = type.shapes as Readonly<Record<string, Shape>> | undefined;
	const fields = Object.entries(type.defaults).map(([field, usual]): Field => {
		return { field, usual, form: formOf(usual), shape: shapes?.[field] };
	});
	known.set(type, fields);
	return fields;
}

function formOf(usual: unknown): Form {
	if (usual === null) return "any";
	return Array.isArray(usual) ? "list" : (typeof usual as Form);
}

function fits(value: unknown, form: Form): boolean {
	switch (form) {
		case "number":
			return Number.isFinite(value);
		case "any":
			return typeof value === "object";
		case "list":
			return Array.isArray(value);
		case "object":
			return typeof value === "object" && value !== null && !Array.isArray(value);
		default:
			return typeof value === form;
	}
}
