import { setMaxListeners } from "node:events";

/** Any number of calls may share a caller's signal; Node would take more than ten listeners for a leak and warn. */
export function manyMayListen(signal: AbortSignal | undefined): void {
	if (signal) setMaxListeners(0, signal);
}
