import type { Store } from "../../src/store/port.ts";

/** Every question a store is asked and has to answer. */
export const STORE_CALLS = [
	"read",
	"readBlobs",
	"first",
	"last",
	"queues",
	"queueSizes",
	"standing",
	"commit",
	"lastCommit",
	"events",
	"trimEvents",
	"scan",
	"scanBlobs",
] as const;

/**
 * Counts the calls a store has not answered yet. Time must not go on while one is on its way: an engine is idle then, but
 * not at rest.
 */
export function storeTraffic(store: Store): { readonly busy: boolean } {
	let pending = 0;
	for (const name of STORE_CALLS) {
		const call = store[name].bind(store) as (...args: unknown[]) => Promise<unknown>;
		const counted = (...args: unknown[]): Promise<unknown> => {
			pending += 1;
			return call(...args).finally(() => {
				pending -= 1;
			});
		};
		Object.assign(store, { [name]: counted });
	}
	return {
		get busy() {
			return pending > 0;
		},
	};
}
