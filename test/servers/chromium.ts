import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The browser on this machine: nothing is downloaded. */
function chromiumPath(): string | undefined {
	if (process.env.FF_CHROMIUM) return process.env.FF_CHROMIUM;
	const folders = (process.env.PATH ?? "").split(delimiter);
	return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

/** Whether tests can have a browser. Without one they say so; a build server must have one. */
export function hasChromium(): boolean {
	if (chromiumPath()) return true;
	const missing = `no browser was found: install chromium (apt-get install chromium), or set FF_CHROMIUM to the path of one`;
	if (process.env.CI === "true") throw new Error(`${missing}; tests in a browser cannot be left out here`);
	console.warn(`\n*** SKIPPED: every test in a browser: ${missing} ***\n`);
	return false;
}

/** Without a sandbox, which root cannot have: it shows pages of ours only. */
export const startChromium = (): Promise<Browser> =>
	chromium.launch({ executablePath: chromiumPath() ?? "chromium", chromiumSandbox: false });
