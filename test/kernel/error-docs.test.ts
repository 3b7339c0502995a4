import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { ERRORS } from "../../src/kernel/errors.ts";

test("the table of errors in docs/api.md is the table in the kernel, both ways", async () => {
	const text = await readFile(new URL("../../docs/api.md", import.meta.url), "utf8");
	const rows = [...text.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \| (yes|no) \| (.+) \|$/gm)];
	const documented = Object.fromEntries(
		rows.map(([, code, status, retryable, message]) => [
			code,
			{ status: Number(status), retryable: retryable === "yes", message },
		]),
	);
	expect(documented).toEqual(ERRORS);
});
