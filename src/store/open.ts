import { type Store, StoreOpenError, type StoreOptions } from "./port.ts";
import { shownUrl } from "./shown-url.ts";
import { parseValkeyUrl } from "./valkey/url.ts";

/** What a store's URL may look like, for people. */
export const STORE_URLS = "sqlite:<file>, memory: or valkey://<host> (also valkeys://, redis://, rediss://)";

/** Whether a URL names a kind of store there is; whether it can be opened shows when it is. */
export function isStoreUrl(url: string): boolean {
	if (!VALKEY.test(url)) return /^(?:memory:|sqlite:(?:\/\/)?.)/.test(url);
	try {
		parseValkeyUrl(url);
		return true;
	} catch {
		return false;
	}
}

const VALKEY = /^(?:valkey|redis)s?:/;

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
			if (path === ":memory:")
				throw new StoreOpenError("store_invalid", `store URL ${url}: names no file; use memory: to keep nothing`, {
					field: "url",
				});
			const { openSqliteStore } = await import("./sqlite/open.ts");
			return openSqliteStore(path, options);
		}
		case "valkey":
		case "valkeys":
		case "redis":
		case "rediss": {
			const { openValkeyStore } = await import("./valkey/open.ts");
			return openValkeyStore(url, options);
		}
		default:
			throw new StoreOpenError("store_invalid", `store URL ${shownUrl(url)}: must be ${STORE_URLS}`);
	}
}

/** Wall time at the start, then the monotonic clock: a wall clock that is set back must not stop time. */
function steadyClock(): () => number {
	const start = Date.now() - performance.now();
	return () => Math.floor(start + performance.now());
}
