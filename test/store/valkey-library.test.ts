import { expect, it } from "vitest";
import { FORMAT } from "../../src/kernel/format.ts";
import { LIBRARY_HASH } from "../../src/store/valkey/function-library.ts";
import { LIBRARY_VERSION } from "../../src/store/valkey/function-names.ts";

/**
 * The function library of every release, and the format of records it came with; a release adds its line. A server with
 * another text under the same version would be used as if it had ours, and only a new version keeps programs of an
 * earlier format out: so either needs a new one.
 */
const RELEASED: Record<number, { hash: string; format: number }> = {};

it("functions and the format of records are what they were when their version was released", () => {
	const released = RELEASED[LIBRARY_VERSION] ?? { hash: LIBRARY_HASH, format: FORMAT };
	expect({ hash: LIBRARY_HASH, format: FORMAT }).toEqual(released);
	expect(LIBRARY_VERSION).toBeGreaterThanOrEqual(Math.max(1, ...Object.keys(RELEASED).map(Number)));
});
