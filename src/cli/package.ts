import { readFileSync } from "node:fs";

/** The version of this package, from the one place that says so. */
export function version(): string {
	const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
	return (JSON.parse(text) as { version: string }).version;
}
