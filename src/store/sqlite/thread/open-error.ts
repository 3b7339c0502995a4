import { accessSync, constants, statSync } from "node:fs";
import { dirname } from "node:path";
import { type OpenErrorCode, StoreOpenError } from "../../port.ts";
import { driverError } from "../driver-error.ts";
import { isDamage } from "./damage.ts";

/** What SQLite said while opening, as a refusal that tells what to do. */
export function openError(path: string, error: unknown): StoreOpenError {
	const driver = error instanceof StoreOpenError ? error : driverError(error);
	if (driver) return driver;
	const said = (error as { code?: unknown }).code;
	const code = typeof said === "string" ? said : "";
	const refuse = (as: OpenErrorCode, problem: string): StoreOpenError =>
		new StoreOpenError(as, `${path}: ${problem}`, { path }, error);
	if (!isDirectory(dirname(path))) {
		return refuse("store_unavailable", `the directory ${dirname(path)} does not exist; create it first`);
	}
	if (isDirectory(path)) return refuse("store_invalid", "is a directory; name a file in it");
	if (/^SQLITE_(BUSY|LOCKED)/.test(code)) {
		return refuse("store_in_use", "another engine has this store open; stop it first, or connect to it over HTTP");
	}
	if (isDamage(error)) {
		return refuse("store_invalid", "is not a SQLite database, or is damaged; choose another file or restore a backup");
	}
	// A file that may only be read cannot be locked, and that is what SQLite then complains about.
	if (/^SQLITE_(READONLY|PERM|AUTH)/.test(code) || (code === "SQLITE_IOERR_LOCK" && !isWritable(path))) {
		return refuse("store_read_only", "cannot be written; check the permissions of the file and its directory");
	}
	if (/^SQLITE_CANTOPEN/.test(code)) {
		return refuse(
			"store_read_only",
			"cannot be opened for reading and writing; check the permissions of the file and its directory",
		);
	}
	return refuse("store_unavailable", error instanceof Error ? error.message : String(error));
}

function isDirectory(path: string): boolean {
	return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function isWritable(path: string): boolean {
	try {
		accessSync(path, constants.W_OK);
		return true;
	} catch {
		return false;
	}
}
