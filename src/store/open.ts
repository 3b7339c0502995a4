import { type Store, StoreOpenError, type StoreOptions } from "./port.ts";

/** The one place a store is picked; each is loaded only when its URL asks for it. */
export async function openStore(url: string, options: StoreOptions): Promise<Store> {
	const colon = url.indexOf(":");
	const scheme = colon < 0 ? url : url.slice(0, colon);
	switch (scheme) {
		case "memory": {
			const { MemoryStore } = await import("./memory/store.ts");
			return new MemoryStore(options.partitions ?? 1, options.testClock ?? steadyClock());
		}
		case "sqlite": {
			const path = url.slice(colon + 1).replace(/^\/\//, "");
			if (colon < 0 || path === "")
				throw new StoreOpenError("store_invalid", `store URL ${url}: must name a file, as in sqlite:./flowfabric.db`);
			const { openSqliteStore } = await import("./sqlite/open.ts");
			return openSqliteStore(path, options);
		}
		default:
			throw new StoreOpenError("store_invalid", `store URL ${url}: must be memory: or sqlite:<file>`);
	}
}

/** Wall time at the start, then the monotonic clock: a wall clock that is set back must not stop time. */
function steadyClock(): () => number {
	const start = Date.now() - performance.now();
	return () => Math.floor(start + performance.now());
}
