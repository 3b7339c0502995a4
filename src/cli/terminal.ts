import { styleText } from "node:util";

/** The part of a stream that the command line needs; a test gives its own. */
export interface Output {
	write(chunk: string | Uint8Array): unknown;
	isTTY?: boolean;
	columns?: number;
	rows?: number;
}

export type Environment = Record<string, string | undefined>;
export type Style = Parameters<typeof styleText>[0];

const ERASE_LINE = "\r\u001b[K";
const DEFAULT_COLUMNS = 100;
const DEFAULT_ROWS = 24;

/**
 * Where a command speaks. Answers go to standard output, everything else (complaints, the moving status line) to
 * standard error, so that a pipe carries answers only.
 */
export class Terminal {
	readonly #out: Output;
	readonly #err: Output;
	readonly #colours: boolean;
	readonly #errColours: boolean;
	#status = "";

	constructor(out: Output, err: Output, env: Environment) {
		this.#out = out;
		this.#err = err;
		this.#colours = wantsColours(out, env);
		this.#errColours = wantsColours(err, env);
	}

	/** Whether a person looks on, so that a line may move. */
	get moves(): boolean {
		return this.#err.isTTY === true;
	}

	get isTTY(): boolean {
		return this.#out.isTTY === true;
	}

	/** Where a line that must not wrap ends; undefined when the output is no terminal and nothing is cut. */
	get columns(): number | undefined {
		return this.#out.isTTY ? (this.#out.columns ?? DEFAULT_COLUMNS) : undefined;
	}

	/** How many lines can be seen at once; undefined when the output is no terminal. */
	get rows(): number | undefined {
		return this.#out.isTTY ? (this.#out.rows ?? DEFAULT_ROWS) : undefined;
	}

	/** For what writes by itself, such as a log. */
	get output(): Output {
		return this.#out;
	}

	get errors(): Output {
		return this.#err;
	}

	print(line = ""): void {
		this.#hideStatus();
		this.#out.write(`${line}\n`);
		this.#showStatus();
	}

	write(bytes: string | Uint8Array): void {
		this.#hideStatus();
		this.#out.write(bytes);
	}

	json(value: unknown): void {
		this.print(JSON.stringify(value, undefined, this.isTTY ? 2 : undefined));
	}

	/** One document of a stream of them. */
	jsonLine(value: unknown): void {
		this.print(JSON.stringify(value));
	}

	note(line: string): void {
		this.#hideStatus();
		this.#err.write(`${line}\n`);
		this.#showStatus();
	}

	/** The line at the bottom that is written over again and again; only for a person. */
	status(text: string): void {
		if (!this.moves) return;
		this.#hideStatus();
		this.#status = text.slice(0, (this.#err.columns ?? DEFAULT_COLUMNS) - 1);
		this.#showStatus();
	}

	style(style: Style, text: string): string {
		return this.#colours ? styleText(style, text, { validateStream: false }) : text;
	}

	noteStyle(style: Style, text: string): string {
		return this.#errColours ? styleText(style, text, { validateStream: false }) : text;
	}

	#hideStatus(): void {
		if (this.#status) this.#err.write(ERASE_LINE);
	}

	#showStatus(): void {
		if (this.#status) this.#err.write(this.#status);
	}
}

function wantsColours(output: Output, env: Environment): boolean {
	if (env["NO_COLOR"]) return false;
	if (env["FORCE_COLOR"]) return env["FORCE_COLOR"] !== "0";
	return output.isTTY === true && env["TERM"] !== "dumb";
}
