import { PUBLIC_STATES, publicState } from "../state.ts";
import type { ExecutionRecord } from "./execution.ts";
import { decode, defaultsOf, recordTypeOf } from "./record-types.ts";

/** Why a stored document cannot be what its key says. */
export interface RecordFault {
	/** Empty when the document as a whole cannot be read. */
	field: string;
	problem: string;
}

/** Holds a document against the fields of its type; undefined when it is in order, or of a type of a later version. */
export function faultOf(key: string, doc: string): RecordFault | undefined {
	let record: object;
	try {
		record = decode(key, doc);
	} catch {
		return { field: "", problem: "is not a JSON object" };
	}
	const type = recordTypeOf(key);
	if (!type) return undefined;
	for (const [field, usual] of Object.entries(defaultsOf[type])) {
		const value = (record as Record<string, unknown>)[field];
		if (!fits(value, usual))
			return { field, problem: `must be ${usual === null ? "null or an object" : kindOf(usual)}, is ${kindOf(value)}` };
	}
	return type === "execution" ? executionFault(key, record as ExecutionRecord) : undefined;
}

function executionFault(key: string, record: ExecutionRecord): RecordFault | undefined {
	if (record.id !== key) return { field: "id", problem: "is not that of its key" };
	const state = publicState(record);
	if (PUBLIC_STATES.includes(state)) return undefined;
	const field = record.lifecyclePhase === "terminal" ? "terminalOutcome" : "lifecyclePhase";
	return { field, problem: `${JSON.stringify(record[field])} is not known` };
}

/** Fields that are null by default hold objects otherwise. */
function fits(value: unknown, usual: unknown): boolean {
	const kind = kindOf(value);
	return usual === null ? kind === "null" || kind === "an object" : kind === kindOf(usual);
}

function kindOf(value: unknown): string {
	if (value === null) return "null";
	if (value === undefined) return "nothing";
	if (Array.isArray(value)) return "a list";
	return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
