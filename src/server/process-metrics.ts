import { collectDefaultMetrics, Registry } from "prom-client";

let shared: Registry | undefined;

/**
 * What is told of the process itself. All its servers share one set: what watches the garbage collector and the event loop
 * cannot be called off, and would be left behind by each server that closes.
 */
export function processMetrics(): Registry {
	if (!shared) {
		shared = new Registry();
		collectDefaultMetrics({ register: shared, prefix: "flowfabric_" });
	}
	return shared;
}
