import { existsSync, readFileSync } from "node:fs";

/** Of this package, wherever it was built to. */
export const VERSION: string = versionAbove(new URL(".", import.meta.url));

function versionAbove(folder: URL): string {
	const file = new URL("package.json", folder);
	if (existsSync(file)) return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
	const above = new URL("..", folder);
	return above.href === folder.href ? "unknown" : versionAbove(above);
}
