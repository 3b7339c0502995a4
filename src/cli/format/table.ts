import type { Terminal } from "../terminal.ts";
import { shortIds } from "./ids.ts";
import { cutText, oneLine, padText, textWidth } from "./text.ts";

export interface Column<R> {
	title: string;
	cell(row: R): string;
	/** Colours the cell once its width is known. */
	paint?(text: string, row: R): string;
	align?: "right";
	/** May be cut down to so many columns where a terminal is too narrow for all. */
	least?: number;
	/** Holds ids, which a terminal shows shortened unless asked for whole ones. */
	isId?: boolean;
}

const GAP = "  ";

/** Rows under a heading. On a terminal a line ends where the terminal does; in a pipe nothing is cut. */
export function printTable<R>(terminal: Terminal, columns: readonly Column<R>[], rows: readonly R[]): void {
	for (const line of tableLines(terminal, columns, rows)) terminal.print(line);
}

export function tableLines<R>(terminal: Terminal, columns: readonly Column<R>[], rows: readonly R[]): string[] {
	const cells = columns.map((column) => {
		const texts = rows.map((row) => oneLine(column.cell(row)));
		return column.isId && terminal.shortensIds ? shortIds(texts) : texts;
	});
	const widths = fitting(
		columns,
		columns.map(({ title }, n) => longest(textWidth(title), cells[n] ?? [])),
		terminal.columns,
	);
	const line = (texts: readonly string[], paint: (text: string, n: number) => string) => {
		const last = texts.findLastIndex((text) => text !== "");
		const padded = texts
			.slice(0, last + 1)
			.map(
				(text, n) => [cutText(text, widths[n] ?? 0), n === last && !columns[n]?.align ? 0 : (widths[n] ?? 0)] as const,
			)
			.map(([text, width], n) => padText(text, width, columns[n]?.align));
		return cut(padded, terminal.columns).map(paint).join(GAP).trimEnd();
	};
	return [
		line(
			columns.map(({ title }) => title),
			(text) => terminal.style("bold", text),
		),
		...rows.map((row, r) =>
			line(
				cells.map((texts) => texts[r] ?? ""),
				(text, n) => columns[n]?.paint?.(text, row) ?? text,
			),
		),
	];
}

/** Takes room from the widest of the columns that can give some, until all fit or none can give any more. */
function fitting<R>(columns: readonly Column<R>[], natural: number[], room = Number.POSITIVE_INFINITY): number[] {
	const widths = [...natural];
	const gaps = GAP.length * (columns.length - 1);
	let over = widths.reduce((sum, width) => sum + width, gaps) - room;
	while (over > 0) {
		const spare = columns.map(({ least }, n) =>
			least !== undefined && (widths[n] ?? 0) > least ? (widths[n] ?? 0) : 0,
		);
		const widest = spare.reduce((most, each) => Math.max(most, each), 0);
		if (widest === 0) break;
		const n = spare.lastIndexOf(widest);
		widths[n] = widest - 1;
		over -= 1;
	}
	return widths;
}

/** Names and values one below the other; empty values are left out. A terminal gets long values wrapped beside their name. */
export function printFields(
	terminal: Terminal,
	fields: readonly (readonly [name: string, value: string | undefined])[],
): void {
	const shown = fields.filter(([, value]) => value !== undefined && value !== "");
	const width = longest(
		0,
		shown.map(([name]) => name),
	);
	for (const [name, value = ""] of shown) {
		const line = `${terminal.style("dim", padText(name, width))}${GAP}${value}`;
		terminal.print(line, { hang: width + GAP.length });
	}
}

/** How wide the widest of these texts is, or so wide at least. */
const longest = (least: number, texts: readonly string[]): number =>
	texts.reduce((most, text) => Math.max(most, textWidth(text)), least);

/** Leaves out what no longer fits, and says so with a last `…`. */
function cut(cells: readonly string[], columns = Number.POSITIVE_INFINITY): string[] {
	const kept: string[] = [];
	let room = columns;
	for (const cell of cells) {
		if (room <= 0) break;
		const text = cell.trimEnd();
		kept.push(textWidth(text) > room ? cutText(text, room) : textWidth(cell) > room ? text : cell);
		room -= textWidth(cell) + GAP.length;
	}
	return kept;
}
