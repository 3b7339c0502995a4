import { FlowFabricError } from "./errors.ts";
import { nearestName } from "./nearest-name.ts";

/** The names of all options of a kind; the compiler sees to it that none is missing. */
export const namesOf = <T extends object>(names: Record<keyof T, true>): readonly string[] => Object.keys(names);

/** A mistyped option would otherwise be taken for one that was left out. */
export function refuseUnknownOptions(what: string, options: unknown, known: readonly string[]): void {
	if (typeof options !== "object" || options === null || Array.isArray(options))
		throw new FlowFabricError("invalid_input", {
			message: `options: must be an object of options of ${what}, got ${options === null ? "null" : typeof options}`,
			details: { field: "options" },
		});
	for (const name of Object.keys(options)) {
		if (known.includes(name)) continue;
		const shown = name.length > 64 ? `${name.slice(0, 64)}…` : name;
		throw new FlowFabricError("invalid_input", {
			message: `${shown}: is not an option of ${what}; did you mean ${nearestName(name, known)}?`,
			details: { field: shown },
		});
	}
}
