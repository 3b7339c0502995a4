import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { beforeAll, expect, test } from "vitest";

/** What an editor shows under the cursor, read from the declarations that the package brings. */

const dist = fileURLToPath(new URL("../../dist", import.meta.url));

const ENTRIES = ["index.d.ts", "hosting/index.d.ts", "testing/index.d.ts"].map((name) => join(dist, name));

/** Every error has these. */
const OF_ERRORS: ReadonlySet<string> = new Set(["name", "message", "stack", "cause"]);

let checker: ts.TypeChecker;
/** Every exported name, and every member two levels deep as `Name.member.member`. */
const texts = new Map<string, string>();
/** The members of options that may be left out. */
const optional = new Set<string>();

beforeAll(() => {
	const program = ts.createProgram(ENTRIES, {
		module: ts.ModuleKind.NodeNext,
		moduleResolution: ts.ModuleResolutionKind.NodeNext,
		lib: ["lib.es2023.d.ts"],
		types: ["node"],
		strict: true,
		exactOptionalPropertyTypes: true,
		skipLibCheck: true,
	});
	checker = program.getTypeChecker();
	for (const entry of ENTRIES) {
		const file = program.getSourceFile(entry);
		const module = file && checker.getSymbolAtLocation(file);
		for (const exported of module ? checker.getExportsOfModule(module) : []) {
			const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
			note(exported.name, symbol);
			for (const type of typesOf(symbol)) visit(exported.name, type, 2);
		}
	}
});

test("every exported name and member has a text for editors to show", () => {
	// All of them were looked at: an entry that could not be read would have none.
	expect(texts.size).toBeGreaterThan(1000);
	expect([...texts].filter(([, text]) => text === "").map(([name]) => name)).toEqual([]);
});

test("a field of a request shows the description that the HTTP API gives of it", () => {
	expect(texts.get("CreateRequest.lane")).toBe("Queue the work waits in; created by first use (default).");
	expect(texts.get("CreateRequest.policy.maxReplays")).toBe("Replays allowed (10).");
});

test("every option that may be left out names its default in parentheses", () => {
	const silent = [...optional].filter((name) => !/\(.+\)/.test(texts.get(name) ?? ""));
	expect(silent).toEqual([]);
});

/** An interface or alias as it is; of a class, what its instances and what itself has. */
function typesOf(symbol: ts.Symbol): ts.Type[] {
	const isClass = (symbol.flags & ts.SymbolFlags.Class) !== 0;
	if (isClass) return [checker.getDeclaredTypeOfSymbol(symbol), checker.getTypeOfSymbol(symbol)];
	return symbol.flags & ts.SymbolFlags.Type ? [checker.getDeclaredTypeOfSymbol(symbol)] : [];
}

function visit(owner: string, given: ts.Type, depth: number): void {
	const type = checker.getNonNullableType(given);
	for (const part of type.isUnion() ? type.types : [type]) {
		if (!(part.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) continue;
		for (const member of checker.getPropertiesOfType(part)) {
			if (!isOurs(member) || OF_ERRORS.has(member.name)) continue;
			const name = `${owner}.${member.name}`;
			note(name, member);
			if (depth === 2 && owner.endsWith("Options") && member.flags & ts.SymbolFlags.Optional) optional.add(name);
			const isMethod = (member.flags & ts.SymbolFlags.Method) !== 0;
			if (depth > 1 && !isMethod) visit(name, checker.getTypeOfSymbol(member), depth - 1);
		}
	}
}

/** A member of several parts of a union is silent if it is in one of them. */
function note(name: string, symbol: ts.Symbol): void {
	const text = ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();
	if (texts.get(name) !== "") texts.set(name, text);
}

function isOurs(symbol: ts.Symbol): boolean {
	if (symbol.name.includes("#private") || symbol.name === "prototype") return false;
	return (symbol.declarations ?? []).some((at) => at.getSourceFile().fileName.split("/").join(sep).startsWith(dist));
}
