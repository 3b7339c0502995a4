import { FlowFabricError } from "./errors.ts";

/** A payload's value as JSON text; what is no data is refused by the name of its field, not dropped. */
export function toJson(field: string, value: unknown): string {
	try {
		const text = JSON.stringify(value);
		if (text !== undefined) return text;
	} catch (error) {
		throw notJson(field, (error as Error).message);
	}
	throw notJson(field, `it is a ${typeof value}`);
}

function notJson(field: string, why: string): FlowFabricError {
	return new FlowFabricError("invalid_input", {
		message: `${field}: cannot be written as JSON: ${why}`,
		details: { field },
	});
}
