/** How boot tells time and waits; tests give their own. */
export interface Patience {
	/** How long to wait for the first connection. */
	connectMs: number;
	now(): number;
	pause(ms: number): Promise<void>;
}

export const realPatience: Patience = {
	connectMs: 10_000,
	now: () => performance.now(),
	pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};
