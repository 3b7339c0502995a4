/**
 * Writes docs/http-api.md from the description the server gives of itself. Run it after changing a route or a shape:
 * `npm run docs`. A test compares the file with what this would write.
 */
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { ERRORS } from "../src/kernel/errors.ts";
import { openBackend } from "../src/library/open.ts";
import { BODY_LIMIT, CONTROL_LIMIT, FAIL_LIMIT, JOINT_LIMIT, MAX_NESTING, RENEW_LIMIT } from "../src/server/bodies.ts";
import { LARGE_BODY } from "../src/server/large-bodies.ts";
import { POOLS } from "../src/server/pools.ts";
import { serveEngine } from "../src/server/server.ts";

interface Schema {
	type?: string;
	enum?: string[];
	const?: unknown;
	anyOf?: Schema[];
	items?: Schema;
	properties?: Record<string, Schema>;
	required?: string[];
	description?: string;
	minimum?: number;
	maximum?: number;
	patternProperties?: object;
}

interface Operation {
	summary: string;
	description?: string;
	tags: string[];
	parameters?: { name: string; in: string; schema: Schema; required?: boolean; description?: string }[];
	requestBody?: { required: boolean; content: { "application/json"?: { schema: Schema } } };
	responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
}

interface Description {
	paths: Record<string, Record<string, Operation>>;
	tags: { name: string; description: string }[];
}

export const FILE = new URL("../docs/http-api.md", import.meta.url);

export async function renderApi(): Promise<string> {
	const { paths, tags } = await describe();
	const operations = Object.entries(paths).flatMap(([path, methods]) =>
		Object.entries(methods).map(([method, operation]) => ({ title: `${method.toUpperCase()} ${path}`, operation })),
	);
	const areas = tags.map(({ name, description }) => {
		const routes = operations.filter(({ operation }) => operation.tags.includes(name));
		return [`## ${name}`, description, ...routes.map(({ title, operation }) => route(title, operation))].join("\n\n");
	});
	return `${[INTRODUCTION, ...areas, pools(), limits(), errors()].join("\n\n")}\n`;
}

const INTRODUCTION = `# HTTP API

<!-- Written by scripts/http-api-docs.ts from the schemas of the server; run \`npm run docs\` after a change. -->

This is the reference of the HTTP API: JSON under \`/v1\`. The server also describes it as OpenAPI 3.1 at \`/openapi.json\`
(client generators and linters take it as it is), with pages to try it at \`/docs\`. \`/\` names these places, and sends a
browser to the docs. Send \`Authorization: Bearer <token>\` with every call if the server has tokens. Unknown fields are
refused by name. Times are integer unix milliseconds of the store's clock. The server uses your \`X-Request-Id\` if it is
valid, and always returns one.

An error is \`{"error": {"code", "message", "retryable", "details"?}}\`; [all codes](#errors) are below.

Event streams (\`Accept: text/event-stream\`) send a comment after a long silence, and end with an event \`close\` that says why.
The id of an event is its cursor: reconnect with \`Last-Event-ID\` to continue after it. If you start at the end (\`end\`), the
server sends an id when the stream opens, before the first event, so you miss nothing either.

The event stream of an execution or a flow ends with it: after the last event the server sends an event \`end\`, with
\`{executionId}\` or \`{flowId}\` as data, and closes the connection. Close an \`EventSource\` when you get it, since it would
reconnect. After a replay, continue from the last id. The stream of an execution also carries events \`progress\`, with
\`{executionId, percent?, message?, at}\` as data: at most four a second, without an id, and never repeated after a reconnect.

## The worker's part, by hand

This is what a worker does, with curl. Start a server (\`npx flowfabric serve\`) and submit some work:

<!-- terminal: a worker by hand -->
\`\`\`console
$ post() { curl -s -H "content-type: application/json" "http://127.0.0.1:9090$1" -d "$2"; echo; }
$ field() { node -p "JSON.parse(process.argv[1])$1" "$2"; }
$ post /v1/executions '{"kind": "shout", "input": {"text": "hello"}}'
{"id":"ex_…","publicState":"waiting","created":true}
\`\`\`

**Claim.** The call waits up to \`waitMs\` for work and returns it under a lease. The lease's id and epoch are the *fence*:
every later call shows it, and is refused once the lease is lost. Without \`kinds\` you would get any kind.

<!-- terminal: claim -->
\`\`\`console
$ claim=$(post /v1/claims '{"lanes": ["default"], "kinds": ["shout"], "workerId": "by-hand", "instanceId": "by-hand-1", "capabilities": [], "max": 1, "leaseMs": 30000, "waitMs": 5000}')
$ field .executions[0].input.text "$claim"
hello
$ id=$(field .executions[0].id "$claim")
$ fence="{\\"leaseId\\": \\"$(field .executions[0].lease.id "$claim")\\", \\"epoch\\": $(field .executions[0].lease.epoch "$claim")}"
\`\`\`

**Renew** at a third of the lease time for as long as you work. The answer says if you should stop (\`cancelRequested\`), or
that the lease is gone. Renew many leases in one call.

<!-- terminal: renew -->
\`\`\`console
$ post /v1/leases/renew "{\\"leaseMs\\": 30000, \\"leases\\": [{\\"executionId\\": \\"$id\\", $(echo "$fence" | tr -d '{}')}]}"
{"leases":[{"executionId":"ex_…","ok":true,"expiresAt":…}]}
$ post /v1/executions/$id/progress "{\\"fence\\": $fence, \\"percent\\": 50, \\"message\\": \\"shouting\\"}"
…
\`\`\`

**Complete**, or **fail** with a reason and a category (the retry policy decides what happens then). A call that is repeated
because its answer was lost gets the first answer again; a different call gets \`execution_not_active\`.

<!-- terminal: complete -->
\`\`\`console
$ post /v1/executions/$id/complete "{\\"fence\\": $fence, \\"result\\": \\"HELLO\\"}"
{"publicState":"completed"}
$ post /v1/executions/$id/complete "{\\"fence\\": $fence, \\"result\\": \\"HELLO\\"}"
{"publicState":"completed"}
$ post /v1/executions/$id/fail "{\\"fence\\": $fence, \\"reason\\": \\"too late\\", \\"category\\": \\"error\\"}"
{"error":{"code":"execution_not_active",…
$ curl -s http://127.0.0.1:9090/v1/executions/$id/result
"HELLO"
\`\`\`

If a worker dies, nobody has to do anything: its lease runs out, and the work goes back to the queue. See
[examples/plain-http-worker.mjs](../examples/plain-http-worker.mjs) for a whole worker in fifty lines.`;

async function describe(): Promise<Description> {
	const backend = await openBackend("memory:", {});
	const server = await serveEngine({ engine: backend.engine, backendFor: (caller) => backend.as(caller), port: 0 });
	try {
		const description = await (await fetch(`${server.address}/openapi.json`)).json();
		return writtenOut(description, description) as Description;
	} finally {
		await server.close();
		await backend.close();
	}
}

/** The description with what it refers to in place of the references. */
function writtenOut(value: unknown, whole: unknown): unknown {
	if (Array.isArray(value)) return value.map((item) => writtenOut(item, whole));
	if (typeof value !== "object" || value === null) return value;
	if ("$ref" in value) {
		const path = String(value.$ref).split("/").slice(1);
		return writtenOut(
			path.reduce((at, name) => (at as Record<string, unknown>)[name], whole),
			whole,
		);
	}
	return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, writtenOut(item, whole)]));
}

function route(title: string, operation: Operation): string {
	const { summary, description, parameters = [], requestBody, responses } = operation;
	const query = parameters.filter((parameter) => parameter.in === "query");
	const parts = [`### ${title}`, `${summary}.${description ? ` ${description}` : ""}`];
	if (query.length > 0) {
		const rows = query.map(
			({ name, schema, required, description: about = "" }): Row => [
				name,
				{ ...schema, description: about },
				required === true,
			],
		);
		parts.push(fields("query", rows));
	}
	if (requestBody) {
		const { properties = {}, required = [] } = requestBody.content["application/json"]?.schema ?? {};
		const rows = Object.entries(properties).map(([name, schema]): Row => [name, schema, required.includes(name)]);
		if (rows.length > 0) parts.push(fields(requestBody.required ? "body" : "body (may be left out)", rows));
	}
	for (const [status, { content = {} }] of Object.entries(responses)) {
		if (status.startsWith("2")) parts.push(reply(status, content));
	}
	return parts.join("\n\n");
}

type Row = [name: string, schema: Schema, required: boolean];

function fields(title: string, rows: Row[]): string {
	const lines = rows.map(
		([name, schema, required]) =>
			`| \`${name}\`${required ? " (required)" : ""} | ${type(schema)} | ${cell(schema.description ?? "")} |`,
	);
	return [`| ${title} | type | |`, "|---|---|---|", ...lines].join("\n");
}

function reply(status: string, content: Record<string, { schema: Schema }>): string {
	const kinds = Object.entries(content).map(([media, { schema }]) =>
		media === "application/json" ? `\`${shown(schema)}\`` : `\`${media}\``,
	);
	return `${status}: ${kinds.length > 0 ? kinds.join(" or ") : "no body"}`;
}

/** A reply in one line: names, and what is optional. */
function shown(schema: Schema): string {
	if (schema.anyOf) return schema.anyOf.map(shown).join(" | ");
	if (schema.items) return `[${shown(schema.items)}]`;
	if (!schema.properties) return schema.const === undefined ? (schema.type ?? "any") : JSON.stringify(schema.const);
	const { properties, required = [] } = schema;
	const names = Object.entries(properties).map(([name, field]) => {
		const nested = field.items?.properties ? `: ${shown(field)}` : "";
		return `${name}${required.includes(name) ? "" : "?"}${nested}`;
	});
	return `{${names.join(", ")}}`;
}

function type(schema: Schema): string {
	if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(", ");
	if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
	if (schema.anyOf) return schema.anyOf.map(type).join(" or ");
	if (schema.items) return `array of ${type(schema.items)}`;
	if (schema.properties) return `\`{${Object.keys(schema.properties).join(", ")}}\``;
	const { minimum, maximum } = schema;
	const bounded = minimum !== undefined && maximum !== undefined && Math.abs(maximum) < Number.MAX_SAFE_INTEGER;
	return `${schema.type ?? "any"}${bounded ? ` ${minimum}..${maximum}` : ""}`;
}

const cell = (text: string): string => text.replaceAll("|", "\\|");

function pools(): string {
	const lines = Object.entries(POOLS).map(([name, max]) => `| \`${name}\` | ${max} |`);
	return [
		"## Pools",
		"",
		"Calls that wait, bodies over 4 MiB and backups take a place in a pool. When a pool is full, a call is refused at once: 429",
		"`too_many_requests` with `details: {pool, max}` and `Retry-After`. A second key rotation at the same time is refused",
		"in the same way, as `admin_rotate` of size 1. So is a token that sends more than its",
		"[rate](operations.md#running-a-server) allows, with `details: {requestsPerSecond, requestBurst}`.",
		"",
		"| pool | size |",
		"|---|---|",
		...lines,
	].join("\n");
}

function limits(): string {
	const kib = (bytes: number) => `${bytes / 1024} KiB`;
	return [
		"## Limits",
		"",
		"| what | limit |",
		"|---|---|",
		`| body of a create, complete, claim, grant or tags, or of a worker | ${kib(BODY_LIMIT)} |`,
		`| body of a renewal | ${kib(RENEW_LIMIT)} |`,
		`| body of a batch or a joint complete | ${kib(JOINT_LIMIT)}, each item ${kib(BODY_LIMIT)} |`,
		`| body of a fail | ${kib(FAIL_LIMIT)} |`,
		`| any other body | ${kib(CONTROL_LIMIT)} |`,
		`| bodies over ${kib(LARGE_BODY)} at a time | the pool \`large_bodies\` |`,
		`| nesting of JSON | ${MAX_NESTING} levels |`,
		"| headers of a request | 16 KiB |",
		"| time for a request to arrive | 30 s, its headers 10 s |",
		"| time from the start of a request to its answer | 30 s, under `/v1/admin` 120 s; waiting calls get their wait on top; then `request_timeout` |",
		"| one wait (`waitMs`, `timeoutMs`) | 30 s |",
		"",
		"A larger body gets 413 `payload_too_large` with `details: {limit, route}`. A content type other than `application/json` gets",
		"400 `invalid_input`, like all other problems of a request. An answer names one problem, even if there are several.",
		"Lists that are too long are refused before their items are checked. The number of workers, lanes and kinds of a namespace",
		"is limited too: see [Limits](operations.md#limits).",
	].join("\n");
}

function errors(): string {
	const lines = Object.entries(ERRORS).map(
		([code, { status, retryable, message }]) =>
			`| \`${code}\` | ${status} | ${retryable ? "yes" : "no"} | ${message} |`,
	);
	return ["## Errors", "", "| code | status | retryable | |", "|---|---|---|---|", ...lines].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(FILE, await renderApi());
