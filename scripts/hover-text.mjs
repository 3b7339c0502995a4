/**
 * Writes what schemas say about their fields into the declarations in dist, where editors find it: the description that
 * the HTTP API shows is then the text under the cursor too, and is written once. `prepare.mjs` runs it after the compiler.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const contract = join(dirname(fileURLToPath(import.meta.url)), "..", "dist", "contract");

for (const file of readdirSync(contract, { recursive: true })) {
	if (file.endsWith(".d.ts")) await describeFile(join(contract, file));
}

async function describeFile(path) {
	const text = readFileSync(path, "utf8");
	const values = await import(pathToFileURL(path.replace(/\.d\.ts$/, ".js")).href);
	// What a module keeps to itself is part of what it exports, and is known there by its fields.
	const all = Object.values(values).flatMap(schemasWithin);
	const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
	const changes = tree.statements
		.filter(ts.isVariableStatement)
		.flatMap(({ declarationList }) => [...declarationList.declarations])
		.flatMap(({ name, type }) =>
			type ? changesIn(type, name.text in values ? schemasIn(values[name.text]) : all) : [],
		);
	const described = changes
		.sort((a, b) => b.from - a.from)
		.reduce((done, { from, to, comment }) => done.slice(0, from) + comment + done.slice(to), text);
	if (described !== text) writeFileSync(path, described);
}

/** What is to be written into a type so that it says what these schemas say. */
function changesIn(type, schemas) {
	if (schemas.length === 0) return [];
	if (!ts.isTypeLiteralNode(type)) {
		const changes = [];
		ts.forEachChild(type, (child) => void changes.push(...changesIn(child, schemas)));
		return changes;
	}
	const members = type.members.filter((member) => ts.isPropertySignature(member) && member.type);
	const schema = schemas.find(
		({ properties }) =>
			Object.keys(properties).length === members.length &&
			members.every(({ name }) => Object.hasOwn(properties, name.text)),
	);
	if (!schema) return [];
	return members.flatMap((member) => {
		const field = schema.properties[member.name.text];
		return [...commentOn(member, field), ...changesIn(member.type, schemasIn(field))];
	});
}

/** The text before a field, in place of one that an earlier run wrote. */
function commentOn(member, { description }) {
	if (description === undefined) return [];
	const from = member.getStart();
	const before = member.jsDoc?.at(-1)?.getStart() ?? from;
	const indent = /[^\n]*$/.exec(member.getSourceFile().text.slice(0, before))[0].replace(/\S.*/, "");
	const comment = `/** ${description}${/[.…]$/.test(description) ? "" : "."} */\n${indent}`;
	return [{ from: before, to: from, comment }];
}

/** The schemas of objects that a schema, or a shape around one, may admit. */
function schemasIn(value) {
	if (typeof value !== "object" || value === null) return [];
	const { schema, properties, items, anyOf, additionalProperties } = value;
	if (schema) return schemasIn(schema);
	if (properties) return [{ properties }];
	if (items) return schemasIn(items);
	if (anyOf) return anyOf.flatMap(schemasIn);
	return schemasIn(additionalProperties);
}

/** The same, and those of their fields. */
function schemasWithin(value) {
	return schemasIn(value).flatMap((schema) => [schema, ...Object.values(schema.properties).flatMap(schemasWithin)]);
}
