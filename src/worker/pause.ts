import type { Clock } from "../contract/clock.ts";

/** A wait that ends by itself or by `end`, and leaves no timer behind. */
export function pause(clock: Clock, ms: number): { over: Promise<void>; end: () => void } {
	let end = () => {};
	const over = new Promise<void>((resolve) => {
		const disarm = clock.setTimer(ms, resolve);
		end = () => {
			disarm();
			resolve();
		};
	});
	return { over, end };
}
