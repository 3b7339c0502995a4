import { FlowFabricError } from "../../contract/errors.ts";
import { UnreadableRecord } from "../../kernel/unreadable.ts";

/** What is wrong with a record that could not be decoded, for whoever asked for it. */
export function corruptDetails(key: string, error: unknown): { key: string; field: string; problem: string } {
	if (error instanceof UnreadableRecord) return { key, ...error.fault };
	return { key, field: "", problem: error instanceof Error ? error.message : String(error) };
}

export function corruptRecord(key: string, error: unknown): FlowFabricError {
	return new FlowFabricError("corrupt_record", { details: corruptDetails(key, error), cause: error });
}
