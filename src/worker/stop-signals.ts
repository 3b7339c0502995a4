const SIGNALS = ["SIGTERM", "SIGINT"] as const;

const stops = new Set<() => Promise<void>>();

/**
 * Calls `stop` when the process is asked to end. When all who registered have stopped, the signal is raised again with
 * nobody in its way, so that the process ends as if it had never been caught; a second signal ends it at once.
 */
export function onStopSignal(stop: () => Promise<void>): () => void {
	if (stops.size === 0) for (const signal of SIGNALS) process.once(signal, received);
	stops.add(stop);
	return () => {
		stops.delete(stop);
		if (stops.size === 0) letGo();
	};
}

function received(signal: NodeJS.Signals): void {
	letGo();
	void Promise.allSettled([...stops].map((stop) => stop())).then(() => process.kill(process.pid, signal));
}

function letGo(): void {
	for (const signal of SIGNALS) process.off(signal, received);
}
