/** Which known name somebody probably meant. */

/** Names further away than a third of their letters are something else. */
export function nearest(wanted: string, known: readonly string[]): string | undefined {
	const near = known
		.map((name) => ({ name, away: distance(wanted.slice(0, 100), name.slice(0, 100)) }))
		.filter(({ name, away }) => away <= Math.max(1, Math.floor(Math.max(name.length, wanted.length) / 3)));
	return near.length === 0 ? undefined : near.reduce((best, next) => (next.away < best.away ? next : best)).name;
}

/** How many letters must be put in, taken out, or changed to make one text of the other. */
export function distance(a: string, b: string): number {
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
