/** A set of small numbers from 1 on as text: six of them a character, so that one is set without taking it all apart. */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BITS = 6;

const charOf = (number: number): number => Math.floor((number - 1) / BITS);
const bitOf = (number: number): number => 1 << ((number - 1) % BITS);
const valueAt = (marks: string, at: number): number => Math.max(0, ALPHABET.indexOf(marks.charAt(at) || "A"));

export const isMarked = (marks: string, number: number): boolean =>
	(valueAt(marks, charOf(number)) & bitOf(number)) !== 0;

const withValue = (marks: string, at: number, value: number): string =>
	`${marks.slice(0, at).padEnd(at, "A")}${ALPHABET.charAt(value)}${marks.slice(at + 1)}`;

export const marked = (marks: string, number: number): string =>
	withValue(marks, charOf(number), valueAt(marks, charOf(number)) | bitOf(number));

export const unmarked = (marks: string, number: number): string =>
	withValue(marks, charOf(number), valueAt(marks, charOf(number)) & ~bitOf(number));
