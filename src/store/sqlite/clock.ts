/**
 * The time of a store that is its own clock. It goes on from the latest time ever told, at the pace of the monotonic
 * clock, so a wall clock set back neither stops nor reverses it; a wall clock that runs ahead (set forward, or the
 * machine slept, which the monotonic clock does not count) is followed at once.
 */
export function storeClock(latestTold: number): () => number {
	let offset = Math.max(latestTold, Date.now()) - performance.now();
	return () => {
		const monotonic = performance.now();
		offset = Math.max(offset, Date.now() - monotonic);
		return Math.floor(offset + monotonic);
	};
}
