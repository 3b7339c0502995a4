import swagger from "@fastify/swagger";
import type { FastifyInstance, FastifySchema } from "fastify";
import { errorReply } from "../contract/replies/errors.ts";
import type { TSchema } from "../contract/schema.ts";
import type { Role } from "./access.ts";
import { serveDocsPage } from "./docs-page.ts";
import type { Route } from "./routes/route.ts";
import { VERSION } from "./version.ts";

/** The description of every route, made from the shapes that also judge the calls. */
export async function describeApi(app: FastifyInstance): Promise<void> {
	await app.register(swagger, {
		openapi: {
			openapi: "3.1.0",
			info: {
				title: "FlowFabric",
				version: VERSION,
				description:
					"A durable execution engine. Times are unix milliseconds of the store's clock; errors have one form.",
				license: { name: "Apache-2.0", identifier: "Apache-2.0" },
			},
			components: {
				securitySchemes: { token: { type: "http", scheme: "bearer" } },
			},
			tags: [
				{ name: "executions", description: "Submitting, reading and controlling work" },
				{ name: "worker protocol", description: "Claiming work and everything done under a lease" },
				{ name: "streams", description: "Output of handlers while they run" },
				{ name: "flows", description: "Graphs of executions that wait for one another" },
				{ name: "lanes", description: "Queues of work" },
				{ name: "budgets", description: "Limits on spending, and who spent what" },
				{ name: "quotas", description: "Limits on rate and concurrency" },
				{ name: "events", description: "Everything that happens in a namespace" },
				{ name: "administration", description: "For operators of the engine" },
				{ name: "health", description: "For operators of the server" },
			],
		},
	});
	serveDocsPage(app);
}

/** The whole description. The framework takes every body for required; some calls may leave theirs out. */
export function apiDocument(app: FastifyInstance, routes: readonly Route[]): object {
	const document = app.swagger() as {
		paths?: Record<string, Record<string, { requestBody?: { required?: boolean } }>>;
	};
	for (const { name, bodyOptional } of routes) {
		const [method = "", url = ""] = name.split(" ");
		const body = document.paths?.[url.replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()]?.requestBody;
		if (body && bodyOptional) body.required = false;
	}
	return document;
}

/** What the docs say about a route. Nothing here is used to check or to write: see `shapesAreForReaders`. */
export function describeRoute(route: Route, roles: readonly Role[] | undefined): FastifySchema {
	const params = [...route.name.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
	return {
		tags: [route.area],
		summary: route.summary,
		operationId: operationId(route.name),
		...(roles ? { description: `Roles: ${roles.join(", ")}.`, security: [{ token: [] }] } : undefined),
		...(route.body ? { body: plain(route.body) } : undefined),
		...(route.query ? { querystring: plain(route.query.schema) } : undefined),
		...(params.length > 0
			? {
					params: {
						type: "object",
						properties: Object.fromEntries(params.map((name) => [name, { type: "string" }])),
						required: params,
					},
				}
			: undefined),
		response: responses(route),
	} as FastifySchema;
}

function responses(route: Route): Record<string, unknown> {
	const entries = Object.entries(route.replies).map(([status, reply]) => [status, response(reply, route.streams)]);
	return {
		...Object.fromEntries(entries),
		default: {
			description: "Refused",
			content: { "application/json": { schema: plain(errorReply) } },
		},
	};
}

function response(reply: Route["replies"][number], streams: boolean | undefined): unknown {
	if (reply === "bytes") {
		return { description: "The bytes, with their own content type", content: { "*/*": { schema: {} } } };
	}
	if (reply === "nothing") return { description: "There is none" };
	if (reply === "text") return { description: "Text", content: { "text/plain": { schema: { type: "string" } } } };
	return {
		description: "Done",
		content: {
			"application/json": { schema: plain(reply) },
			...(streams ? { "text/event-stream": { schema: { type: "string" } } } : undefined),
		},
	};
}

/** What schemas say for error messages: half sentences, and which values these must not show. */
const OURS: ReadonlySet<string> = new Set(["allowed", "isSecret"]);

/** Routes are documented with JSON Schema; what is said for error messages is no part of it. */
function plain(schema: TSchema): unknown {
	return JSON.parse(JSON.stringify(schema, (key, value) => (OURS.has(key) ? undefined : value)));
}

function operationId(name: string): string {
	const [method = "", path = ""] = name.split(" ");
	const words = path
		.replace("/v1/", "")
		.split(/[/:.-]+/)
		.filter(Boolean);
	return [method.toLowerCase(), ...words]
		.map((word, n) => (n === 0 ? word : word[0]?.toUpperCase() + word.slice(1)))
		.join("");
}

/** Calls are checked by the backend and replies written as they are: a schema on a route only informs. */
export function shapesAreForReaders(app: FastifyInstance): void {
	app.setValidatorCompiler(() => () => true);
	app.setSerializerCompiler(() => JSON.stringify);
}
