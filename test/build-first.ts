import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The thread that SQLite runs on, and programs that tests start, are built code: it must not be older than the source. */
export default function buildFirst(): void {
	const prepare = fileURLToPath(new URL("../scripts/prepare.mjs", import.meta.url));
	execFileSync(process.execPath, [prepare, "--tools"], { stdio: ["ignore", "ignore", "inherit"] });
}
