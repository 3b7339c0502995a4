import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { textWidth } from "../../src/cli/format/text.ts";

/** The real command line in a pseudo-terminal, and what is on its screen in the end. */

export const COLUMNS = 80;

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

export function hasPseudoTerminal(): boolean {
	// util-linux has these options; the script of macOS and BSD has others.
	if (spawnSync("script", ["-qefc", "true", "/dev/null"], { input: "" }).status === 0) return true;
	const missing = "there is no script command of util-linux (apt-get install bsdutils)";
	if (process.env["CI"] === "true") throw new Error(`${missing}; tests in a terminal cannot be left out here`);
	console.warn(`\n*** SKIPPED: every test in a terminal: ${missing} ***\n`);
	return false;
}

export interface Seen {
	/** What is on the screen, with what was typed. */
	screen: string[];
	/** All that was ever written, as it was. */
	raw: string;
	code: number;
}

export interface Sitting {
	env: Record<string, string>;
	cwd: string;
	/** What is typed when the program asks for a yes. */
	answer?: string;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Runs one command line at a terminal of 80 columns and 24 rows. */
export function runAtTerminal(args: readonly string[], { env, cwd, answer }: Sitting): Promise<Seen> {
	const line = `stty cols ${COLUMNS} rows 24; exec ${[process.execPath, MAIN, ...args].map(quoted).join(" ")}`;
	const child = spawn("script", ["-qefc", line, "/dev/null"], {
		cwd,
		env: { PATH: process.env["PATH"], HOME: process.env["HOME"], SHELL: "/bin/sh", TERM: "xterm", ...env },
	});
	let raw = "";
	let isAnswered = false;
	const decoder = new TextDecoder();
	child.stdout.on("data", (chunk: Buffer) => {
		raw += decoder.decode(chunk, { stream: true });
		if (isAnswered || !raw.includes("[y/N] ")) return;
		isAnswered = true;
		child.stdin.write(`${answer ?? "n"}\n`);
	});
	child.stdin.on("error", () => {});
	return new Promise((resolve, reject) => {
		child.on("error", reject);
		child.on("close", (code) => resolve({ screen: screenOf(raw), raw, code: code ?? -1 }));
	});
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const PIECES = /\r|\n|\u001b\[(\d*)([A-Za-z])|[^\r\n\u001b]+/g;

/** What a terminal shows after these bytes. It never breaks a line by itself, so that one too long is seen to be. */
export function screenOf(raw: string): string[] {
	const lines: string[] = [""];
	let row = 0;
	let isAtStart = true;
	for (const [piece, count, command] of raw.matchAll(PIECES)) {
		if (piece === "\r") isAtStart = true;
		else if (piece === "\n") {
			row += 1;
			lines[row] ??= "";
		} else if (command === "K") lines[row] = isAtStart ? "" : (lines[row] ?? "");
		else if (command === "A") row = Math.max(0, row - Number(count || 1));
		else if (command === "J") lines.splice(row + 1);
		else if (command === undefined) {
			lines[row] = (isAtStart ? "" : (lines[row] ?? "")) + piece;
			isAtStart = false;
		}
	}
	while (lines.at(-1) === "") lines.pop();
	return lines;
}

export const tooWide = (lines: readonly string[]): string[] => lines.filter((line) => textWidth(line) > COLUMNS);
