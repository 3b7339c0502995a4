import { setTimeout as sleep } from "node:timers/promises";
import { type Store, StoreError } from "../../src/store/port.ts";

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
	"logs",
	"oldestForgotten",
	"trimEvents",
	"scan",
	"scanBlobs",
] as const;

const PATIENCE_MS = 60_000;
const PAUSE_MS = 50;

/**
 * For engines on a virtual clock. Counts the calls a store has not answered yet: time must not go on while one is on its
 * way, as an engine is idle then, but not at rest. And asks again, in real time, when there was no answer: the engine
 * would pause until its clock goes on, which nobody sees to while an answer is awaited, so a machine that once stood still
 * for some seconds would leave a test waiting for ever.
 */
export function storeTraffic(store: Store): { readonly busy: boolean } {
	let pending = 0;
	for (const name of STORE_CALLS) {
		const call = store[name].bind(store) as (...args: unknown[]) => Promise<unknown>;
		const counted = (...args: unknown[]): Promise<unknown> => {
			pending += 1;
			return answered(() => call(...args)).finally(() => {
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

async function answered<T>(call: () => Promise<T>): Promise<T> {
	const deadline = performance.now() + PATIENCE_MS;
	for (;;) {
		try {
			return await call();
		} catch (error) {
			if (!(error instanceof StoreError && error.passing) || performance.now() > deadline) throw error;
			await sleep(PAUSE_MS);
		}
	}
}
