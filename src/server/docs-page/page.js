/** Shows /openapi.json to people: every call, its fields and answers, and a form to try it. Plain DOM, nothing from elsewhere. */

const byId = (id) => document.getElementById(id);

/** An element with attributes and children; texts stay texts, whatever is in them. */
function make(tag, attributes = {}, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
	add(element, children);
	return element;
}

function add(element, children) {
	for (const child of children.flat()) if (child !== undefined) element.append(child);
}

/** Codes of errors would fill the screen. */
const MOST_VALUES = 12;

/** Part of the description with what it refers to in place of the references. */
function writtenOut(part, whole) {
	if (Array.isArray(part)) return part.map((item) => writtenOut(item, whole));
	if (typeof part !== "object" || part === null) return part;
	if (part.$ref) {
		const names = part.$ref.split("/").slice(1);
		return writtenOut(
			names.reduce((at, name) => at[name], whole),
			whole,
		);
	}
	return Object.fromEntries(Object.entries(part).map(([name, item]) => [name, writtenOut(item, whole)]));
}

/** A schema in a few words. */
function typeOf(schema) {
	if (schema.const !== undefined) return JSON.stringify(schema.const);
	if (schema.enum) {
		const values = schema.enum.map((value) => JSON.stringify(value));
		return values.length > MOST_VALUES
			? `${values.slice(0, MOST_VALUES).join(" | ")} | … (${values.length})`
			: values.join(" | ");
	}
	const branches = schema.anyOf ?? schema.oneOf;
	if (branches) return branches.map(typeOf).join(" | ");
	if (schema.type === "array") return `${typeOf(schema.items ?? {})}[]`;
	return schema.type ?? "anything";
}

function limitsOf({ minimum, maximum, minLength, maxLength, maxItems }) {
	const from = minimum ?? minLength;
	const to = maximum ?? maxLength ?? maxItems;
	if (from === undefined && to === undefined) return "";
	return ` (${from ?? "…"} to ${to ?? "…"})`;
}

/** The fields of an object, those within it behind a dot. */
function fieldsOf(schema, prefix = "", depth = 0) {
	const inner = schema.type === "array" ? (schema.items ?? {}) : schema;
	return Object.entries(inner.properties ?? {}).flatMap(([name, field]) => {
		const path = `${prefix}${name}`;
		const isRequired = inner.required?.includes(name) ?? false;
		const within = depth < 3 ? fieldsOf(field, `${path}${field.type === "array" ? "[]" : ""}.`, depth + 1) : [];
		return [{ path, field, isRequired }, ...within];
	});
}

function tableOf(rows) {
	if (rows.length === 0) return undefined;
	const lines = rows.map(({ path, field, isRequired }) =>
		make(
			"tr",
			{},
			make("td", {}, isRequired ? path : `${path}?`),
			make("td", {}, typeOf(field) + limitsOf(field)),
			make("td", {}, field.description ?? ""),
		),
	);
	return make("table", {}, lines);
}

/** Something to begin with: what must be there. */
function sampleOf(schema) {
	if (schema.const !== undefined) return schema.const;
	if (schema.enum) return schema.enum[0];
	const [branch] = schema.anyOf ?? schema.oneOf ?? [];
	if (branch) return sampleOf(branch);
	if (schema.type === "object" || schema.properties)
		return Object.fromEntries((schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] ?? {})]));
	const samples = { array: [], integer: schema.minimum ?? 0, number: 0, boolean: false, string: "" };
	return samples[schema.type] ?? null;
}

const jsonOf = (content) => content?.["application/json"]?.schema;

function answersOf(responses) {
	return Object.entries(responses ?? {}).map(([status, { description, content }]) => {
		const schema = jsonOf(content);
		const kinds = Object.keys(content ?? {}).join(", ");
		return make(
			"div",
			{},
			make("p", {}, make("code", {}, status), ` ${description ?? ""}${kinds ? ` (${kinds})` : ""}`),
			// Refusals have one form, which their message explains.
			schema && status.startsWith("2") ? tableOf(fieldsOf(schema)) : undefined,
		);
	});
}

/** A form that makes the call, and shows what came back. */
function tryOut(method, path, { parameters = [], requestBody }) {
	const inputs = parameters.map((parameter) => ({ parameter, input: make("input", { placeholder: parameter.name }) }));
	const schema = jsonOf(requestBody?.content);
	const body = requestBody && make("textarea", { spellcheck: "false" });
	if (body) body.value = JSON.stringify(schema ? sampleOf(schema) : {}, null, 2);
	const shown = make("pre", { hidden: "" });
	const form = make(
		"form",
		{},
		inputs.map(({ parameter, input }) => make("label", {}, `${parameter.name} `, input, " ")),
		body,
		make("p", {}, make("button", {}, `Send ${method.toUpperCase()}`)),
		shown,
	);
	form.addEventListener("submit", async (event) => {
		event.preventDefault();
		shown.hidden = false;
		shown.textContent = "…";
		shown.textContent = await answerTo(method, path, inputs, body?.value);
	});
	return form;
}

async function answerTo(method, path, inputs, body) {
	const query = new URLSearchParams();
	let url = path;
	for (const { parameter, input } of inputs) {
		if (parameter.in === "path") url = url.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
		else if (input.value !== "") query.append(parameter.name, input.value);
	}
	const token = byId("token").value;
	try {
		const answer = await fetch(query.size > 0 ? `${url}?${query}` : url, {
			method: method.toUpperCase(),
			headers: {
				...(token ? { authorization: `Bearer ${token}` } : undefined),
				...(body === undefined ? undefined : { "content-type": "application/json" }),
			},
			...(body === undefined ? undefined : { body }),
		});
		const text = await answer.text();
		return `${answer.status} ${answer.statusText}\n\n${harmless(pretty(text))}`;
	} catch (error) {
		return String(error);
	}
}

/** Characters that control, turn the direction of what follows, or hide. */
const HARMFUL =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
	/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Text with these written out, as JSON may write them. */
function harmless(text) {
	return text.replace(HARMFUL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function pretty(text) {
	try {
		return JSON.stringify(JSON.parse(text), null, 2);
	} catch {
		return text;
	}
}

/** What is in it is made when it is opened: there are a hundred calls. */
function operation(method, path, described, whole) {
	const { summary = "", description, operationId } = described;
	const details = make(
		"details",
		{ id: operationId ?? `${method}-${path}` },
		make("summary", {}, make("b", {}, method.toUpperCase()), make("code", {}, path), summary),
	);
	details.addEventListener("toggle", () => {
		if (details.childElementCount > 1) return;
		const { parameters = [], requestBody, responses } = writtenOut(described, whole);
		const asked = parameters.map(({ name, required, schema = {}, description: about }) => ({
			path: name,
			field: about === undefined ? schema : { ...schema, description: about },
			isRequired: required ?? false,
		}));
		const schema = jsonOf(requestBody?.content);
		const section = (title, parts) => (parts.some(Boolean) ? [make("h4", {}, title), ...parts] : []);
		add(details, [
			description ? make("p", {}, description) : undefined,
			section("Parameters", [tableOf(asked)]),
			section("Body", [schema && tableOf(fieldsOf(schema))]),
			section("Answers", answersOf(responses)),
			section("Try it", [tryOut(method, path, { parameters, requestBody })]),
		]);
	});
	details.dataset.words = `${method} ${path} ${summary} ${description ?? ""}`.toLowerCase();
	return details;
}

function show(whole) {
	const { info, tags = [], paths } = whole;
	byId("version").textContent = info.version;
	byId("about").textContent = info.description ?? "";
	const areas = new Map(tags.map(({ name, description }) => [name, { description, calls: [] }]));
	for (const [path, methods] of Object.entries(paths))
		for (const [method, described] of Object.entries(methods)) {
			const area = described.tags?.[0] ?? "other";
			if (!areas.has(area)) areas.set(area, { calls: [] });
			areas.get(area).calls.push(operation(method, path, described, whole));
		}
	const sections = [...areas]
		.filter(([, { calls }]) => calls.length > 0)
		.map(([name, { description = "", calls }]) =>
			make("section", {}, make("h2", {}, name), make("p", {}, description), calls),
		);
	byId("areas").replaceChildren();
	add(byId("areas"), sections);
	byId("find").addEventListener("input", () => {
		const words = byId("find").value.toLowerCase().split(/\s+/);
		for (const section of sections) {
			for (const call of section.querySelectorAll("details"))
				call.hidden = !words.every((word) => call.dataset.words.includes(word));
			section.hidden = !section.querySelector("details:not([hidden])");
		}
	});
	if (location.hash) byId(decodeURIComponent(location.hash.slice(1)))?.setAttribute("open", "");
}

try {
	show(await (await fetch("/openapi.json")).json());
} catch (error) {
	byId("areas").replaceChildren(make("p", {}, `The description cannot be read: ${error}`));
}
