const FIRST_MS = 100;
const MOST_MS = 5000;

/** Milliseconds to wait before the next try: doubling, bounded, and spread so that many callers do not come at once. */
export function backoff(tries: number): number {
	return Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(tries, 10)) * (0.5 + Math.random() / 2);
}
