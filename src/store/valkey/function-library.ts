import { createHash } from "node:crypto";
import { StoreError } from "../port.ts";
import { LIBRARY_VERSION } from "./function-names.ts";
import { LIBRARY } from "./library.ts";
import type { Node } from "./node.ts";

const NAME = "flowfabric";

export const LIBRARY_HASH = createHash("sha256").update(LIBRARY).digest("hex").slice(0, 16);

/** The library a server has. */
interface LoadedLibrary {
	version: number;
	hash: string;
}

/**
 * Gives a server our functions, unless it has them already. An older library is replaced: programs that still use it
 * find their functions gone, since the names carry the version, and stop. A newer one is left alone, and it is we who
 * stop. It survives restarts and reaches replicas by itself.
 */
export async function provideLibrary(node: Node): Promise<void> {
	const loaded = await loadedLibrary(node);
	if (loaded && loaded.version > LIBRARY_VERSION) {
		throw new StoreError(
			`${node.address}: a later version of FlowFabric has taken this server over: its functions have version ${loaded.version}, this program knows ${LIBRARY_VERSION}; upgrade`,
			{ applied: "no", code: "store_too_new" },
		);
	}
	if (loaded?.version === LIBRARY_VERSION && loaded.hash === LIBRARY_HASH) return;
	// Another engine may be about to load the same: whoever comes second replaces it by its like.
	await node.ask(["FUNCTION", "LOAD", "REPLACE", LIBRARY]);
}

export async function loadedLibrary(node: Node): Promise<LoadedLibrary | undefined> {
	const [found] = (await node.ask(["FUNCTION", "LIST", "LIBRARYNAME", NAME, "WITHCODE"])) as unknown[][];
	if (!found) return undefined;
	const field = (name: string): unknown => found[found.indexOf(name) + 1];
	const [first] = field("functions") as string[][];
	const name = first?.[first.indexOf("name") + 1] ?? "";
	const code = String(field("library_code"));
	return {
		version: Number(/^ff(\d+)_/.exec(name)?.[1] ?? 0),
		hash: createHash("sha256").update(code).digest("hex").slice(0, 16),
	};
}
