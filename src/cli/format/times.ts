/** Times and lengths of time for people: how long ago, and exactly when. */

const STEPS: readonly [unit: string, ms: number][] = [
	["d", 86_400_000],
	["h", 3_600_000],
	["min", 60_000],
	["s", 1000],
];

/** `340 ms`, `2.5 s`, `4 min`, `3 h`, `12 d`. */
export function length(ms: number): string {
	const size = Math.abs(ms);
	for (const [unit, step] of STEPS) {
		if (size < step) continue;
		const count = size / step;
		return `${unit === "s" && count < 10 ? count.toFixed(1) : Math.floor(count)} ${unit}`;
	}
	return `${Math.round(size)} ms`;
}

export function relative(at: number, now: number): string {
	if (Math.abs(now - at) < 1000) return "now";
	return at > now ? `in ${length(at - now)}` : `${length(now - at)} ago`;
}

export const absolute = (at: number): string => new Date(at).toISOString();

export const when = (at: number, now: number): string => `${relative(at, now)} (${absolute(at)})`;

const ISO = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/;
const UNTIL = new RegExp(`until (${ISO.source})`, "g");
const AT = new RegExp(ISO.source, "g");

/** A sentence with the times in it as people say them: `delayed for another 3 min`. */
export function readable(text: string, now: number): string {
	return text
		.replace(UNTIL, (whole, iso: string) => {
			const at = Date.parse(iso);
			return at > now ? `for another ${length(at - now)}` : whole;
		})
		.replace(AT, (iso) => relative(Date.parse(iso), now));
}
