/** How an engine or a worker waits. Tests and the simulator put a virtual one in its place; nothing else there knows time. */
export interface Clock {
	/** Unix milliseconds as this machine believes them to be; never what anything is decided by. */
	now(): number;
	/** Milliseconds that only ever grow; their zero means nothing. */
	monotonic(): number;
	/** Calls once after `ms`; the returned function calls it off. */
	setTimer(ms: number, callback: () => void): () => void;
	/** Calls once the work at hand is done, so that whatever arrives together is handled together. */
	defer(callback: () => void): void;
}

/** What a promise comes to, or undefined when it has come to nothing in this time; it goes on then, unobserved. */
export function within<T>(clock: Clock, ms: number, promise: Promise<T>): Promise<T | undefined> {
	return new Promise((resolve, reject) => {
		const disarm = clock.setTimer(ms, () => resolve(undefined));
		promise.then(resolve, reject).finally(disarm);
	});
}

const MAX_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
	now: () => Date.now(),
	monotonic: () => performance.now(),
	setTimer(ms, callback) {
		// Beyond 24.8 days Node would fire at once; whoever set the timer asks again when it fires early.
		const timer = setTimeout(callback, Math.min(ms, MAX_TIMER_MS));
		return () => clearTimeout(timer);
	},
	defer: (callback) => void setImmediate(callback),
};
