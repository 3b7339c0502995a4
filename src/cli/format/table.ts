import type { Terminal } from "../terminal.ts";

export interface Column<R> {
	title: string;
	cell(row: R): string;
	/** Colours the cell once its width is known. */
	paint?(text: string, row: R): string;
	align?: "right";
}

const GAP = "  ";

/** Rows under a heading. On a terminal a line ends where the terminal does; in a pipe nothing is cut. */
export function printTable<R>(terminal: Terminal, columns: readonly Column<R>[], rows: readonly R[]): void {
	for (const line of tableLines(terminal, columns, rows)) terminal.print(line);
}

export function tableLines<R>(terminal: Terminal, columns: readonly Column<R>[], rows: readonly R[]): string[] {
	const cells = rows.map((row) => columns.map((column) => oneLine(column.cell(row))));
	const widths = columns.map(({ title }, n) => longest(title.length, cells, (row) => row[n]));
	const line = (texts: readonly string[], paint: (text: string, n: number) => string) => {
		const padded = texts.map((text, n) => pad(text, n === texts.length - 1 ? 0 : (widths[n] ?? 0), columns[n]?.align));
		return cut(padded, terminal.columns).map(paint).join(GAP).trimEnd();
	};
	return [
		line(
			columns.map(({ title }) => title),
			(text) => terminal.style("bold", text),
		),
		...rows.map((row, r) => line(cells[r] ?? [], (text, n) => columns[n]?.paint?.(text, row) ?? text)),
	];
}

/** Names and values one below the other; empty values are left out. */
export function printFields(
	terminal: Terminal,
	fields: readonly (readonly [name: string, value: string | undefined])[],
): void {
	const shown = fields.filter(([, value]) => value !== undefined && value !== "");
	const width = longest(0, shown, ([name]) => name);
	for (const [name, value] of shown) terminal.print(`${terminal.style("dim", name.padEnd(width))}${GAP}${value}`);
}

/** How long the longest of these texts is, or so long at least. */
const longest = <R>(least: number, rows: readonly R[], text: (row: R) => string | undefined): number =>
	rows.reduce((most, row) => Math.max(most, text(row)?.length ?? 0), least);

const pad = (text: string, width: number, align?: "right"): string =>
	align === "right" ? text.padStart(width) : text.padEnd(width);

/** Leaves out what no longer fits, and says so with a last `…`. */
function cut(cells: readonly string[], columns = Number.POSITIVE_INFINITY): string[] {
	const kept: string[] = [];
	let room = columns;
	for (const cell of cells) {
		if (room <= 0) break;
		kept.push(cell.trimEnd().length <= room ? cell.slice(0, room) : `${cell.slice(0, room - 1)}…`);
		room -= cell.length + GAP.length;
	}
	return kept;
}

/** What others wrote must not move the cursor, colour the screen or break a table. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
export const oneLine = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ");
