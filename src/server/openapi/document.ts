import { OPEN, type Role } from "../access.ts";
import { type ReplyShape, type Route, rolesOf } from "../routes/route.ts";
import { VERSION } from "../version.ts";
import { type JsonSchema, NamedSchemas } from "./named-schemas.ts";
import { refusalResponses, refusalsOf } from "./refusals.ts";

const TAGS = {
	executions: "Submitting, reading and controlling work",
	"worker protocol": "Claiming work and everything done under a lease",
	waitpoints: "Suspended work, the signals it waits for, and the people who answer",
	streams: "Output of handlers while they run",
	flows: "Graphs of executions that wait for one another",
	lanes: "Queues of work",
	budgets: "Limits on spending, and who spent what",
	quotas: "Limits on rate and concurrency",
	events: "Everything that happens in a namespace",
	administration: "For operators of the engine",
	health: "For operators of the server",
};

/** The description of every route in OpenAPI 3.1, made from the shapes that also judge the calls. */
export function apiDocument(routes: readonly Route[]): object {
	const schemas = new NamedSchemas();
	const paths: Record<string, JsonSchema> = {};
	for (const route of routes) {
		const [method = "", url = ""] = route.name.split(" ");
		const path = url.replace(/:(\w+)/g, "{$1}");
		paths[path] = { ...paths[path], [method.toLowerCase()]: operation(route, schemas) };
	}
	return {
		openapi: "3.1.0",
		info: {
			title: "FlowFabric",
			version: VERSION,
			description:
				"A durable execution engine. Times are unix milliseconds of the store's clock; errors have one form.",
			license: { name: "Apache-2.0", identifier: "Apache-2.0" },
		},
		servers: [{ url: "/", description: "The server that gave this description" }],
		security: [{ token: [] }],
		tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
		paths,
		components: {
			securitySchemes: {
				token: { type: "http", scheme: "bearer", description: "Needed when the server has tokens" },
			},
			responses: refusalResponses(),
			schemas: schemas.components(),
		},
	};
}

function operation(route: Route, schemas: NamedSchemas): JsonSchema {
	const roles: readonly Role[] | typeof OPEN = rolesOf(route);
	const isOpen = roles === OPEN;
	const parameters = [...pathParameters(route), ...queryParameters(route, schemas)];
	return {
		tags: [route.area],
		summary: route.summary,
		operationId: operationId(route.name),
		...(isOpen ? { security: [] } : { description: `Roles: ${roles.join(", ")}.` }),
		...(parameters.length > 0 ? { parameters } : undefined),
		...requestBody(route, schemas),
		responses: {
			...Object.fromEntries(
				Object.entries(route.replies).map(([status, reply]) => [status, response(reply, route, schemas)]),
			),
			...refusalsOf(route, isOpen),
		},
	};
}

function pathParameters({ name }: Route): JsonSchema[] {
	return [...name.matchAll(/:(\w+)/g)].map(([, param]) => ({
		name: param,
		in: "path",
		required: true,
		schema: { type: "string" },
	}));
}

function queryParameters({ query }: Route, schemas: NamedSchemas): JsonSchema[] {
	if (!query) return [];
	const { properties = {}, required = [] } = schemas.spelledOut(query.schema);
	return Object.entries(properties as Record<string, JsonSchema>).map(([name, { description, ...schema }]) => ({
		name,
		in: "query",
		...(description === undefined ? undefined : { description }),
		required: (required as string[]).includes(name),
		schema,
	}));
}

function requestBody({ body, bodyOptional, takesBytes }: Route, schemas: NamedSchemas): JsonSchema | undefined {
	if (takesBytes) return { requestBody: { required: false, content: { "*/*": { schema: {} } } } };
	if (!body) return undefined;
	const content = { "application/json": { schema: schemas.refer(body) } };
	return { requestBody: { required: !bodyOptional, content } };
}

function response(reply: ReplyShape, { streams }: Route, schemas: NamedSchemas): JsonSchema {
	if (reply === "bytes")
		return { description: "The bytes, with their own content type", content: { "*/*": { schema: {} } } };
	if (reply === "nothing") return { description: "No body" };
	if (reply === "text") return { description: "Text", content: { "text/plain": { schema: { type: "string" } } } };
	return {
		description: "Done",
		content: {
			"application/json": { schema: schemas.refer(reply) },
			...(streams ? { "text/event-stream": { schema: { type: "string" } } } : undefined),
		},
	};
}

function operationId(name: string): string {
	const [method = "", path = ""] = name.split(" ");
	const words = path
		.replace("/v1/", "")
		.split(/[/:.-]+/)
		.filter(Boolean);
	if (words.length === 0) words.push("root");
	return [method.toLowerCase(), ...words]
		.map((word, n) => (n === 0 ? word : word[0]?.toUpperCase() + word.slice(1)))
		.join("");
}
