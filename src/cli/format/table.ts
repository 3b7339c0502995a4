import { stripVTControlCharacters } from "node:util";
import type { Terminal } from "../terminal.ts";

export interface Column<R> {
	title: string;
	cell(row: R): string;
	align?: "right";
}

const GAP = "  ";

/** Rows under a heading. On a terminal the last column is cut where the line ends; in a pipe nothing is. */
export function printTable<R>(terminal: Terminal, columns: readonly Column<R>[], rows: readonly R[]): void {
	const cells = rows.map((row) => columns.map((column) => oneLine(column.cell(row))));
	const titles = columns.map(({ title }) => terminal.style("bold", title));
	const widths = columns.map(({ title }, n) => Math.max(title.length, ...cells.map((row) => visible(row[n] ?? ""))));
	for (const row of [titles, ...cells]) terminal.print(fit(terminal, lineOf(row, columns, widths)));
}

/** Names and values one below the other; empty values are left out. */
export function printFields(
	terminal: Terminal,
	fields: readonly (readonly [name: string, value: string | undefined])[],
) {
	const shown = fields.filter(([, value]) => value !== undefined && value !== "");
	const width = Math.max(0, ...shown.map(([name]) => name.length));
	for (const [name, value] of shown) terminal.print(`${terminal.style("dim", name.padEnd(width))}${GAP}${value}`);
}

function lineOf<R>(row: readonly string[], columns: readonly Column<R>[], widths: readonly number[]): string {
	const parts = row.map((cell, n) => {
		const room = " ".repeat(Math.max(0, (widths[n] ?? 0) - visible(cell)));
		return columns[n]?.align === "right" ? room + cell : cell + room;
	});
	return parts.join(GAP).trimEnd();
}

function fit(terminal: Terminal, line: string): string {
	const { columns } = terminal;
	if (columns === undefined || visible(line) <= columns) return line;
	// Only text without escape sequences can be cut anywhere; styled cells stand before the last column.
	const excess = visible(line) - columns + 1;
	return `${line.slice(0, line.length - excess)}…`;
}

const visible = (text: string): number => stripVTControlCharacters(text).length;

/** What others wrote must not move the cursor or break the table. */
export const oneLine = (text: string): string => text.replace(CONTROLS, " ");

// Escape sequences that style a cell end in "m" and stay; every other control character goes.
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const CONTROLS = /(?!\u001b\[\d+m)[\u0000-\u001f\u007f-\u009f]/g;
