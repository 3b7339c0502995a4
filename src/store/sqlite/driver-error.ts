import { StoreOpenError } from "../port.ts";

const MODULE = "better-sqlite3";

/**
 * What is wrong when the driver cannot be loaded: it is not there, its native part was never built, or was built for
 * another platform or version of Node. Undefined for any other error.
 */
export function driverError(error: unknown): StoreOpenError | undefined {
	const { code, message = "" } = (error ?? {}) as { code?: unknown; message?: string };
	const problem = problemOf(String(code), message);
	if (problem === undefined) return undefined;
	const { platform, arch, versions } = process;
	const target = `${platform}-${arch}, Node ${versions.node} (module version ${versions.modules})`;
	const advice = `run "npm rebuild ${MODULE}", or "npm install ${MODULE}" with a C++ compiler at hand`;
	return new StoreOpenError(
		"store_driver_missing",
		`the native module ${MODULE} ${problem} on ${target}; ${advice}`,
		{ module: MODULE, platform, arch, node: versions.node },
		error,
	);
}

function problemOf(code: string, message: string): string | undefined {
	if (/MODULE_NOT_FOUND/.test(code) || /^Cannot find (?:module|package)/.test(message))
		return message.includes(MODULE) || message.includes("bindings") ? "is not installed" : undefined;
	if (/^Could not locate the bindings file/.test(message)) return "has not been built";
	if (code !== "ERR_DLOPEN_FAILED") return undefined;
	return /NODE_MODULE_VERSION/.test(message)
		? "was built for another version of Node than runs here"
		: "cannot be loaded";
}
