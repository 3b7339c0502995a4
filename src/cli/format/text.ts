export { harmless, oneLine } from "../../contract/harmless-text.ts";

/** Text as a terminal shows it: measured in columns, cut and wrapped. */

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const WIDE =
	/^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{20000}-\u{3fffd}])/u;
const WITHOUT_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]/u;
const PLAIN = /^[\x20-\x7e]*$/;

function graphemeWidth(grapheme: string): number {
	if (WITHOUT_WIDTH.test(grapheme)) return 0;
	return WIDE.test(grapheme) || grapheme.includes("\ufe0f") ? 2 : 1;
}

/** How many columns a text takes: two for a wide character, none for an accent of its own. */
export function textWidth(text: string): number {
	if (PLAIN.test(text)) return text.length;
	let width = 0;
	for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
	return width;
}

/** So much of a text as fits, with a last `…` where it was cut. */
export function cutText(text: string, columns: number): string {
	if (textWidth(text) <= columns) return text;
	let kept = "";
	let room = columns - 1;
	for (const { segment } of graphemes.segment(text)) {
		room -= graphemeWidth(segment);
		if (room < 0) break;
		kept += segment;
	}
	return columns < 1 ? "" : `${kept}…`;
}

export function padText(text: string, columns: number, align?: "right"): string {
	const gap = " ".repeat(Math.max(0, columns - textWidth(text)));
	return align === "right" ? gap + text : text + gap;
}

/**
 * A line broken at spaces where it is too long. What follows is indented as far as `hang` says, else as the line is. A
 * word that is longer than a line is left whole: ids and addresses are there to be copied.
 */
export function wrapText(
	line: string,
	columns: number,
	{ hang, widthOf = textWidth }: { hang?: number; widthOf?: (text: string) => number } = {},
): string[] {
	if (widthOf(line) <= columns) return [line];
	const indent = " ".repeat(hang ?? (/^ */.exec(line)?.[0].length as number));
	const lines: string[] = [];
	let current = "";
	for (const word of line.split(/(?<=\S)(?= )/)) {
		const longer = current + word;
		if (current.trim() === "" || widthOf(longer) <= columns) current = longer;
		else {
			lines.push(current);
			current = indent + word.trimStart();
		}
	}
	lines.push(current);
	return lines;
}
