import { decode, recordTypeOf, typeOfKey } from "./record-types.ts";
import { type CursorKeyRecord, isUsable } from "./records/cursor-key.ts";
import type { ExecutionRecord } from "./records/execution.ts";
import { isWhole, isWholeKey, type KeyringRecord } from "./records/keyring.ts";
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
	const { defaults } = type;
	for (const field in defaults) {
		const usual = (defaults as Record<string, unknown>)[field];
		const value = (record as Record<string, unknown>)[field];
		if (value === usual || fits(value, usual)) continue;
		const problem = `must be ${usual === null ? "null, an object or a list" : kindOf(usual)}, is ${kindOf(value)}`;
		throw new UnreadableRecord({ field, problem });
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

/** Fields that are null by default hold objects or lists otherwise. */
function fits(value: unknown, usual: unknown): boolean {
	return usual === null ? typeof value === "object" : kindOf(value) === kindOf(usual);
}
