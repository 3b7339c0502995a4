import { FlowFabricError } from "./errors.ts";
import { suggestion } from "./nearest.ts";

/** The names of all options of a kind; the compiler sees to it that none is missing. */
export const namesOf = <T extends object>(names: Record<keyof T, true>): readonly string[] => Object.keys(names);

/** Refuses options that nobody knows, as requests refuse fields; `call` is what they were given to. */
export function checkOptionNames(call: string, options: unknown, known: readonly string[]): void {
	if (typeof options !== "object" || options === null || Array.isArray(options))
		throw refused("options", `must be an object, got ${options === null ? "null" : typeof options}`);
	for (const name of Object.keys(options)) {
		if (known.includes(name)) continue;
		const shown = name.slice(0, 64);
		throw refused(shown, `is not a known option of ${call}${suggestion(name, known)}`);
	}
}

const refused = (field: string, problem: string): FlowFabricError =>
	new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
