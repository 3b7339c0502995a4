import { access, readFile } from "node:fs/promises";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const text = () => readFile(new URL("docs/security.md", ROOT), "utf8");

test("every test that docs/security.md names exists", async () => {
	const named = [...(await text()).matchAll(/`(test\/[^`]+)`/g)].map(([, path]) => path as string);
	expect(named.length).toBeGreaterThan(20);
	for (const path of named) await access(new URL(path, ROOT));
});

test("whatever docs/security.md calls protected, it says how that is tested", async () => {
	const [, protects = ""] = /\n## What is protected\n([\s\S]*?)\n## /.exec(await text()) ?? [];
	for (const section of protects.split(/\n### /).slice(1))
		expect([section.split("\n", 1)[0], /\nTests: `test\//.test(section)]).toEqual([section.split("\n", 1)[0], true]);
});
