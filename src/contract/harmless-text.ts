/**
 * What others wrote, made harmless for terminals, logs and pages. Control characters move a cursor and colour a screen;
 * characters that turn the direction of what follows, or hide, make a line read as something it is not.
 */

/** All of them but line ends and tabs. */
const HARMFUL =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
	/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** `\u001b` in place of the character itself. JSON reads it as the same character. */
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Everything that could do harm, written out; lines stay lines. */
export const harmless = (text: string): string => text.replaceAll("\r\n", "\n").replace(HARMFUL, escaped);

/** The same in one line: line ends and tabs become spaces. */
export const oneLine = (text: string): string => harmless(text).replace(/[\n\t]+/g, " ");
