/** The known name that looks most like one that is not known; a mistyped word is nearer than a different one. */
export function nearestName(name: string, known: readonly string[]): string {
	const wanted = name.slice(0, MOST_CHARS);
	// One that only lacks its end, or has something behind it, is nearer than any that differs within.
	const away = (each: string) => (each.startsWith(wanted) || wanted.startsWith(each) ? 1 : distance(wanted, each));
	const near = known.map((each) => ({ each, away: away(each) }));
	return near.reduce((best, next) => (next.away < best.away ? next : best)).each;
}

/** Half a sentence that names what was probably meant, for the end of a refusal; empty when nothing is near. */
export function suggestion(name: string, known: readonly string[]): string {
	if (name.length > MOST_CHARS || known.length === 0) return "";
	const meant = nearestName(name, known);
	const isNear = distance(name, meant) <= Math.max(1, Math.floor(Math.min(name.length, meant.length) / 3));
	return isNear ? `; did you mean ${meant}?` : "";
}

/** What is longer is not compared to its end: comparing costs the product of both lengths. */
const MOST_CHARS = 100;

/** How many letters must be put in, taken out, or changed to make one text of the other. */
function distance(a: string, b: string): number {
	let above = Array.from({ length: b.length + 1 }, (_, n) => n);
	for (let row = 1; row <= a.length; row++) {
		const line = [row];
		for (let column = 1; column <= b.length; column++) {
			const change = (above[column - 1] as number) + (a[row - 1] === b[column - 1] ? 0 : 1);
			line.push(Math.min(change, (above[column] as number) + 1, (line[column - 1] as number) + 1));
		}
		above = line;
	}
	return above[b.length] as number;
}
