import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a program in an empty folder, as somebody would who has just copied it. */
async function output(program: string): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-example-"));
	try {
		const { stdout } = await run(process.execPath, [join(root, program)], { cwd: folder, timeout: 60_000 });
		return stdout;
	} finally {
		await rm(folder, { recursive: true });
	}
}

test("the README's first program is examples/hello.mjs and prints what the README says", async () => {
	const readme = await readFile(join(root, "README.md"), "utf8");
	const shown = /<!-- example: hello.mjs -->\n```js\n([\s\S]*?)```/.exec(readme)?.[1];
	const promised = /It prints\n\n```text\n([\s\S]*?)```/.exec(readme)?.[1];
	expect(shown).toBe(await readFile(join(root, "examples/hello.mjs"), "utf8"));
	expect(await output("examples/hello.mjs")).toBe(promised);
});

test("examples/order.ts does what it says", async () => {
	expect(await output(".build/examples/order.js")).toBe(
		[
			"submitted twice, one execution: true",
			"receipt: A-17-1250",
			"failed: order A-18: there is nothing to charge",
			"cancelled: the customer changed their mind",
			"",
		].join("\n"),
	);
});

test("npm start's demo ends by itself and shows a retry and a lost lease", async () => {
	const text = await output("dist/cli/demo.js");
	expect(text).toMatch(/retry_scheduled/);
	expect(text).toMatch(/lease_revoked/);
	expect(text).toMatch(/one execution/);
});
