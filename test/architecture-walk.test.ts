import { existsSync, readFileSync } from "node:fs";
import ts from "typescript";
import { expect, it } from "vitest";

const root = new URL("../", import.meta.url);
const doc = readFileSync(new URL("docs/architecture.md", root), "utf8");

/** A row of a walk: what to read of a file, and how many lines that is said to be. */
interface Row {
	file: string;
	names: { name: string; isComment: boolean }[];
	lines: number;
}

interface Walk {
	title: string;
	rows: Row[];
	files: number;
	lines: number;
}

const ROW = /^\| `([^`]+\.ts)` \| (.+?) \| (\d+) \| .+ \|$/gm;
const NAME = /(comment of )?`([^`]+)`/g;
const TOTAL = /^(\d+) files, ([\d,]+) lines\.$/m;

function walksIn(text: string): Walk[] {
	const section = /^## A walk through the code\n(.*?)(?=^## )/ms.exec(text)?.[1] ?? "";
	return section
		.split(/^### /m)
		.slice(1)
		.map((part) => {
			const [, files, lines] = TOTAL.exec(part) ?? [];
			return {
				title: part.slice(0, part.indexOf("\n")),
				rows: [...part.matchAll(ROW)].map(rowOf),
				files: Number(files),
				lines: Number(lines?.replaceAll(",", "")),
			};
		});
}

function rowOf([, file = "", names = "", lines]: RegExpMatchArray): Row {
	const named = [...names.matchAll(NAME)].map(([, comment, name = ""]) => ({ name, isComment: comment !== undefined }));
	return { file, names: named, lines: Number(lines) };
}

/** What can be named of a file, and how many lines it has: with its comment, and the comment alone. */
type Declared = Map<string, { lines: number; comment: number }[]>;

function declaredIn(path: string): Declared {
	const file = ts.createSourceFile(path, readFileSync(new URL(path, root), "utf8"), ts.ScriptTarget.Latest, true);
	const declared: Declared = new Map();
	const lineOf = (position: number): number => file.getLineAndCharacterOfPosition(position).line;
	const add = (name: string, node: ts.Node): void => {
		const comments = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
		const comment = comments.reduce((sum, { pos, end }) => sum + lineOf(end) - lineOf(pos) + 1, 0);
		const lines = lineOf(node.end) - lineOf(node.getStart(file)) + 1 + comment;
		declared.set(name, [...(declared.get(name) ?? []), { lines, comment }]);
	};
	for (const node of file.statements) {
		if (ts.isVariableStatement(node)) {
			for (const { name, initializer } of node.declarationList.declarations) {
				add(name.getText(), node);
				if (!initializer || !ts.isObjectLiteralExpression(initializer)) continue;
				for (const part of initializer.properties) add(`${name.getText()}.${part.name?.getText()}`, part);
			}
		} else if (ts.isExpressionStatement(node) && ts.isCallExpression(node.expression)) {
			add(node.expression.expression.getText(), node);
		} else if (ts.isClassDeclaration(node)) {
			if (node.name) add(node.name.text, node);
			for (const part of node.members)
				add(ts.isConstructorDeclaration(part) ? "constructor" : (part.name?.getText() ?? ""), part);
		} else if (ts.isFunctionDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) {
			if (node.name) add(node.name.text, node);
		}
	}
	return declared;
}

/** By how much a row may be off before it is to be counted anew. */
const tolerance = (lines: number): number => Math.max(5, lines / 5);

const walks = walksIn(doc);

it("there are walks for submit, claim and complete", () => {
	expect(walks.map(({ title }) => title)).toEqual(["Submit", "Claim", "Complete"]);
});

it.each(walks)("the walk $title names what is there, and counts it right", ({ rows, files, lines }) => {
	for (const row of rows) {
		const path = `src/${row.file}`;
		expect(existsSync(new URL(path, root)), path).toBe(true);
		const declared = declaredIn(path);
		let count = 0;
		for (const { name, isComment } of row.names) {
			const found = declared.get(name) ?? [];
			expect(found, `${name} in ${path}`).toHaveLength(1);
			count += found[0]?.[isComment ? "comment" : "lines"] ?? 0;
		}
		expect(Math.abs(row.lines - count), `${path} has ${count} lines to read`).toBeLessThanOrEqual(tolerance(count));
	}
	expect({ files, lines }).toEqual({
		files: new Set(rows.map(({ file }) => file)).size,
		lines: rows.reduce((sum, row) => sum + row.lines, 0),
	});
});

it("every file that docs/architecture.md names is there", () => {
	const named = [...doc.matchAll(/`([\w./-]+\.(?:ts|lua|grit))`/g)].map(([, path = ""]) => path);
	expect(named.length).toBeGreaterThan(50);
	const missing = named.filter((path) => ![path, `src/${path}`].some((each) => existsSync(new URL(each, root))));
	expect(missing).toEqual([]);
});
