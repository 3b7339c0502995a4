import { randomUUID } from "node:crypto";
import { styleText } from "node:util";
import { cutText, harmless, oneLine, textWidth, wrapText } from "./format/text.ts";

/** The part of a stream that the command line needs; a test gives its own. */
export interface Output {
	write(chunk: string | Uint8Array): unknown;
	isTTY?: boolean;
	columns?: number;
	rows?: number;
}

export interface Input extends AsyncIterable<Uint8Array> {
	isTTY?: boolean;
}

export type Environment = Record<string, string | undefined>;
export type Style = Parameters<typeof styleText>[0];

const ESCAPE = "\u001b";
const ERASE_LINE = `\r${ESCAPE}[K`;
/**
 * Stands for the escape character in colours until a line is written. Everything else in a line that could colour or move
 * is what somebody wrote, and is made harmless. It differs in every process, so nobody can write it beforehand.
 */
const OWN_ESCAPE = `<${randomUUID()}>`;
const OWN_COLOUR = new RegExp(`${OWN_ESCAPE}\\[[\\d;]*m`, "g");
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
	/** Whether somebody wants ids whole on a screen, too. */
	fullIds = false;

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

	/** Whether ids are shortened: only for a person, who did not ask for whole ones. */
	get shortensIds(): boolean {
		return this.isTTY && !this.fullIds;
	}

	/**
	 * One line: whatever users wrote in it is harmless, and begins no other line. A terminal gets it wrapped at words.
	 */
	print(line = "", { hang }: { hang?: number } = {}): void {
		this.#put(this.#out, this.wrapped(line, hang).join("\n"));
	}

	/** A line as `print` breaks it, for what must know how high it is. */
	wrapped(line: string, hang?: number): string[] {
		return wrapped(line, this.columns, hang);
	}

	/** As it is: nobody looks after what is in it. */
	write(bytes: string | Uint8Array): void {
		this.#hideStatus();
		this.#out.write(bytes);
	}

	/** Not wrapped: a document is to be copied. What is escaped in it reads as the same text. */
	json(value: unknown): void {
		this.#put(this.#out, JSON.stringify(value, undefined, this.isTTY ? 2 : undefined));
	}

	/** One document of a stream of them. */
	jsonLine(value: unknown): void {
		this.#put(this.#out, JSON.stringify(value));
	}

	/** A line beside the answers. */
	note(line: string): void {
		const columns = this.#err.isTTY ? (this.#err.columns ?? DEFAULT_COLUMNS) : undefined;
		this.#put(this.#err, wrapped(line, columns).join("\n"));
	}

	/** Asks for an answer in the same line. */
	ask(question: string): void {
		this.#hideStatus();
		this.#err.write(coloured(oneLine(question)));
	}

	/** The line at the bottom that is written over again and again; only for a person. */
	status(text: string): void {
		if (!this.moves) return;
		this.#hideStatus();
		this.#status = cutText(oneLine(text), (this.#err.columns ?? DEFAULT_COLUMNS) - 1);
		this.#showStatus();
	}

	style(style: Style, text: string): string {
		return this.#colours ? ownStyle(style, text) : text;
	}

	noteStyle(style: Style, text: string): string {
		return this.#errColours ? ownStyle(style, text) : text;
	}

	#put(output: Output, text: string): void {
		this.#hideStatus();
		output.write(`${coloured(harmless(text))}\n`);
		this.#showStatus();
	}

	#hideStatus(): void {
		if (this.#status) this.#err.write(ERASE_LINE);
	}

	#showStatus(): void {
		if (this.#status) this.#err.write(this.#status);
	}
}

const ownStyle = (style: Style, text: string): string =>
	styleText(style, text, { validateStream: false }).replaceAll(ESCAPE, OWN_ESCAPE);

const coloured = (text: string): string => text.replaceAll(OWN_ESCAPE, ESCAPE);

const shownWidth = (text: string): number => textWidth(text.replace(OWN_COLOUR, ""));

function wrapped(text: string, columns: number | undefined, hang?: number): string[] {
	const line = oneLine(text);
	if (columns === undefined) return [line];
	return wrapText(line, columns, { widthOf: shownWidth, ...(hang === undefined ? undefined : { hang }) });
}

function wantsColours(output: Output, env: Environment): boolean {
	if (env["NO_COLOR"]) return false;
	if (env["FORCE_COLOR"]) return env["FORCE_COLOR"] !== "0";
	return output.isTTY === true && env["TERM"] !== "dumb";
}
