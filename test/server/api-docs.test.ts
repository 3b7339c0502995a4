import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { FILE, renderApi } from "../../scripts/http-api-docs.ts";

test("docs/http-api.md is what `npm run docs` would write", async () => {
	expect(await readFile(FILE, "utf8")).toBe(await renderApi());
});
