import { createRequire } from "node:module";
import type { Pool } from "undici";

const require = createRequire(import.meta.url);

/** Loads undici with the first connection: a program that only opens stores never needs it. */
export function newPool(origin: string, options: Pool.Options): Pool {
	const { Pool } = require("undici") as typeof import("undici");
	return new Pool(origin, options);
}
