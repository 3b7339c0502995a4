import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** What can be imported, where it comes from, and where it is described. */
const ENTRIES = {
	flowfabric: { source: "src/index.ts", page: "docs/api.md" },
	"flowfabric/server": { source: "src/hosting/index.ts", page: "docs/embedding.md" },
	"flowfabric/testing": { source: "src/testing/index.ts", page: "docs/testing.md" },
} as const;
type Entry = keyof typeof ENTRIES;

const exported = new Map<string, { values: Set<string>; all: Set<string> }>();

beforeAll(() => {
	const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
	const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
	const program = ts.createProgram(
		Object.values(ENTRIES).map(({ source }) => join(root, source)),
		options,
	);
	const checker = program.getTypeChecker();
	for (const [entry, { source }] of Object.entries(ENTRIES)) {
		const file = program.getSourceFile(join(root, source));
		const symbol = file && checker.getSymbolAtLocation(file);
		const symbols = symbol ? checker.getExportsOfModule(symbol) : [];
		const isValue = (each: ts.Symbol) => {
			const target = each.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(each) : each;
			const isTypeOnly = each.declarations?.some(
				(at) => ts.isExportSpecifier(at) && ts.isTypeOnlyExportDeclaration(at),
			);
			return !isTypeOnly && (target.flags & ts.SymbolFlags.Value) !== 0;
		};
		exported.set(entry, {
			values: new Set(symbols.filter(isValue).map(({ name }) => name)),
			all: new Set(symbols.map(({ name }) => name)),
		});
	}
});

const IMPORT = /\bimport\s+(type\s+)?\{([^}]*)\}\s+from\s+"(flowfabric(?:\/[\w-]+)*)"/g;

/** Every name that a page or a program imports from this package. */
function importsIn(path: string): { entry: string; name: string; isType: boolean }[] {
	return [...read(path).matchAll(IMPORT)].flatMap(([, allTypes, names = "", entry = ""]) =>
		names
			.split(",")
			.map((each) => each.trim().replace(/\s+as\s+\w+$/, ""))
			.filter((each) => each !== "")
			.map((each) => ({
				entry,
				name: each.replace(/^type\s+/, ""),
				isType: allTypes !== undefined || each.startsWith("type "),
			})),
	);
}

const filesIn = (folder: string): string[] =>
	readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
		.filter((name) => /\.(md|ts|mjs|html)$/.test(name))
		.map((name) => join(folder, name));

test("whatever README, docs and examples import can be imported", () => {
	const found = ["README.md", ...filesIn("docs"), ...filesIn("examples")].flatMap((path) =>
		importsIn(path).map((each) => ({ path, ...each })),
	);
	expect(new Set(found.map(({ entry }) => entry))).toEqual(new Set(Object.keys(ENTRIES)));
	const missing = found.filter(
		({ entry, name, isType }) => !(isType ? exported.get(entry)?.all : exported.get(entry)?.values)?.has(name),
	);
	expect(missing.map(({ path, entry, name }) => `${path}: ${name} from "${entry}"`)).toEqual([]);
});

describe("whatever can be imported is described", () => {
	test.each(Object.entries(ENTRIES) as [Entry, (typeof ENTRIES)[Entry]][])("%s", (entry, { page }) => {
		const text = read(page);
		const names = [...(exported.get(entry)?.all ?? [])];
		expect(names.length).toBeGreaterThan(3);
		const silent = names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
		expect(silent, `add them to ${page}: it names everything that "${entry}" exports`).toEqual([]);
	});
});

test("package.json offers these entries and no other", () => {
	const { exports } = JSON.parse(read("package.json")) as { exports: object };
	expect(Object.keys(exports).map((path) => path.replace(/^\./, "flowfabric"))).toEqual(Object.keys(ENTRIES));
});
