import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const biome = join(dirname(createRequire(import.meta.url).resolve("@biomejs/biome/package.json")), "bin", "biome");

/** What the linter of this repository says of a program in `src`. */
function complaintsOf(source: string): string {
	const folder = mkdtempSync(join(tmpdir(), "ff-lint-"));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	const settings = JSON.parse(readFileSync(join(root, "biome.json"), "utf8"));
	writeFileSync(join(folder, "biome.json"), JSON.stringify({ ...settings, vcs: { enabled: false } }));
	cpSync(join(root, "lint"), join(folder, "lint"), { recursive: true });
	mkdirSync(join(folder, "src"));
	writeFileSync(join(folder, "src", "planted.ts"), `${source}\n`);
	const { stdout, stderr } = spawnSync(process.execPath, [biome, "lint", "src"], { cwd: folder, encoding: "utf8" });
	return stdout + stderr;
}

it("the linter refuses lists spread into arguments, and promises nobody waits for", () => {
	const spreads = [
		"export const most = (list: number[]): number => Math.max(0, ...list);",
		"export const add = (to: number[], list: number[]): number => to.push(...list);",
		"export const date = (list: [number, number]): Date => new Date(...list);",
		"export const call = (f: (...given: number[]) => void, list: number[]): void => f.apply(undefined, list);",
		"export const nested = (list: number[]): number[] => [1, Math.max(...list)];",
	];
	for (const source of spreads) expect(complaintsOf(source)).toContain("overflow the stack");
	const literal = "export const both = (a: number[], b: number[]): Set<number> => new Set([...a, ...b]);";
	expect(complaintsOf(literal)).toContain("Checked 1 file");
	expect(complaintsOf(literal)).not.toContain("overflow the stack");
	const floating = "async function later(): Promise<void> {}\nexport function now(): void {\n\tlater();\n}";
	expect(complaintsOf(floating)).toContain("noFloatingPromises");
});
