import { FlowFabricError } from "../contract/errors.ts";

/** A setting that stops the start, by its name. */
export function configError(setting: string, problem: string): FlowFabricError {
	return new FlowFabricError("invalid_input", { message: `${setting}: ${problem}`, details: { field: setting } });
}
