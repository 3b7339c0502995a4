import { describe, expect, it } from "vitest";
import { driverError } from "../../src/store/sqlite/driver-error.ts";

const failed = (message: string, code?: string): Error =>
	Object.assign(new Error(message), code ? { code } : undefined);

describe("a driver of SQLite that cannot be loaded", () => {
	for (const [what, error, problem] of [
		[
			"is missing",
			failed("Cannot find package 'better-sqlite3' imported from /x", "ERR_MODULE_NOT_FOUND"),
			"is not installed",
		],
		["was never built", failed("Could not locate the bindings file. Tried:\n → /x/build"), "has not been built"],
		[
			"was built for another Node",
			failed("was compiled against a different Node.js version using NODE_MODULE_VERSION 108", "ERR_DLOPEN_FAILED"),
			"was built for another version of Node",
		],
		["was built for another platform", failed("/x.node: invalid ELF header", "ERR_DLOPEN_FAILED"), "cannot be loaded"],
	] as const) {
		it(`${what} and says which module, where, and what to run`, () => {
			const told = driverError(error);
			expect(told).toMatchObject({
				code: "store_driver_missing",
				details: { module: "better-sqlite3", platform: process.platform, arch: process.arch },
			});
			expect(told?.message).toContain(`the native module better-sqlite3 ${problem}`);
			expect(told?.message).toContain(`${process.platform}-${process.arch}`);
			expect(told?.message).toContain("npm rebuild better-sqlite3");
		});
	}

	it("is not confused with a file that cannot be opened", () => {
		expect(driverError(failed("unable to open database file", "SQLITE_CANTOPEN"))).toBeUndefined();
		expect(driverError(failed("Cannot find module './mine.js'", "MODULE_NOT_FOUND"))).toBeUndefined();
		expect(driverError(undefined)).toBeUndefined();
	});
});
