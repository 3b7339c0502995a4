/** Names that were misspelt, and what was meant. */

const MOST_CHARS = 100;

/** The known name that is nearest to a given one. */
export function nearestOf(given: string, known: readonly string[]): string | undefined {
	return ranked(given, known)[0]?.name;
}

/** The known name that was probably meant; undefined when none is near. */
export function meantBy(given: string, known: readonly string[]): string | undefined {
	const [best] = ranked(given, known);
	return best && best.away <= Math.max(1, Math.floor(Math.min(given.length, best.name.length) / 3))
		? best.name
		: undefined;
}

/** Half a sentence that names it, for the end of a refusal; empty when none is near. */
export function suggestion(given: string, known: readonly string[]): string {
	const meant = meantBy(given, known);
	return meant === undefined ? "" : `; did you mean ${meant}?`;
}

function ranked(given: string, known: readonly string[]): { name: string; away: number }[] {
	const wanted = given.toLowerCase().slice(0, MOST_CHARS);
	return known
		.map((name) => ({ name, away: awayFrom(wanted, name.toLowerCase()) }))
		.sort((one, other) => one.away - other.away);
}

/** One that only lacks its end, or has something behind it, is nearer than any that differs within. */
const awayFrom = (wanted: string, name: string): number =>
	wanted !== "" && (name.startsWith(wanted) || wanted.startsWith(name)) ? 1 : distance(wanted, name);

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
