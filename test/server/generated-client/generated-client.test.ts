import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";
import { expect, onTestFinished, test } from "vitest";
import { Program } from "../../e2e/processes.ts";
import { entry, Stand, tokenOf } from "../stand.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

test("a client generated from openapi.json compiles, lives through a whole execution and knows the errors", async () => {
	const stand = await Stand.open({ docs: true, tokens: [entry("all", "admin")] });
	// Inside the repository, so that it finds the packages a user would have installed.
	const folder = await mkdtemp(join(ROOT, ".build/generated-client-"));
	onTestFinished(() => rm(folder, { recursive: true }));
	const { text } = await stand.call("GET", "/openapi.json");
	await writeFile(join(folder, "api.ts"), astToString(await openapiTS(text)));
	const program = join(folder, "lifecycle.ts");
	await copyFile(new URL("lifecycle.ts.txt", import.meta.url), program);
	await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ extends: "../../tsconfig.json", include: ["*.ts"] }));

	const compiler = new Program("node", ["node_modules/typescript/bin/tsc", "-p", folder], { cwd: ROOT });
	expect({ exit: await compiler.ended(), said: compiler.out }).toEqual({ exit: 0, said: "" });
	const run = new Program("node", ["--import", "tsx", program, stand.server.address, tokenOf("all")], { cwd: ROOT });
	expect({ exit: await run.ended(), said: run.out, err: run.err }).toEqual({
		exit: 0,
		said: "a whole life\n",
		err: "",
	});
}, 120_000);
