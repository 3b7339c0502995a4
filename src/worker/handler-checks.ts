import { FlowFabricError } from "../contract/errors.ts";

/** A handler that is none would be found out by every execution it is given, one after the other. */
export function checkHandler(kind: unknown, handler: unknown): void {
	if (typeof kind !== "string" || kind.length < 1 || kind.length > 256) {
		throw new FlowFabricError("invalid_input", {
			message: `kind: must be a string of 1 to 256 characters, got ${typeof kind === "string" ? `${kind.length}` : typeof kind}`,
			details: { field: "kind" },
		});
	}
	checkFunction("handler", handler, ` of ${JSON.stringify(kind)}`);
}

/** Refuses what cannot be called, with what it is. */
export function checkFunction(field: string, value: unknown, whose = ""): void {
	if (typeof value === "function") return;
	throw new FlowFabricError("invalid_input", {
		message: `${field}${whose}: must be a function, got ${value === null ? "null" : typeof value}`,
		details: { field },
	});
}
