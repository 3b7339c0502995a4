/** Ids for a screen. They begin with the time, which those made together share; what tells them apart is their end. */

const ID = /^([a-z]{2}_)([0-9a-f]{32})(_\d+)$/;
const SHORTEST = 6;
const WHOLE = 32;

/** What a shortened id looks like, for whoever pastes one. */
export const SHORTENED = /^[a-z]{2}_…/;

/** `ex_…a1b2c3_812`, with so many digits that no two of these look alike. What is no id stays as it is. */
export function shortIds(ids: readonly string[]): string[] {
	const different = new Set(ids).size;
	for (let digits = SHORTEST; digits < WHOLE; digits++) {
		const short = ids.map((id) =>
			id.replace(ID, (_, kind, hex: string, slot) => `${kind}…${hex.slice(-digits)}${slot}`),
		);
		if (new Set(short).size === different) return short;
	}
	return [...ids];
}
