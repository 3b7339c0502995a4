import { ACCESS, OPEN, ROLES, type Role, type RouteName } from "../../../src/server/access.ts";
import type { Schema } from "./random-value.ts";

/** One operation of the OpenAPI document. */
export interface Operation {
	method: string;
	path: string;
	query: Schema;
	body: Schema | undefined;
	/** Who may call it. */
	roles: readonly Role[];
}

interface Described {
	parameters?: { name: string; in: string; schema: Schema; required?: boolean }[];
	requestBody?: { content: Record<string, { schema: Schema }> };
}

interface OpenApi {
	paths: Record<string, Record<string, Described>>;
}

/** Schemas that contain themselves are followed this far. */
const DEEPEST = 12;

/** Every operation a server tells of. */
export function operationsOf(openApi: unknown): Operation[] {
	const { paths } = resolved(openApi, openApi, 0) as OpenApi;
	return Object.entries(paths).flatMap(([path, methods]) =>
		Object.entries(methods).map(([name, { parameters = [], requestBody }]) => {
			const asked = parameters.filter((parameter) => parameter.in === "query");
			const method = name.toUpperCase();
			return {
				method,
				path,
				query: {
					type: "object",
					properties: Object.fromEntries(asked.map(({ name, schema }) => [name, schema])),
					required: asked.filter(({ required }) => required).map(({ name }) => name),
				},
				body: requestBody?.content["application/json"]?.schema,
				roles: rolesOf(method, path),
			};
		}),
	);
}

function rolesOf(method: string, path: string): readonly Role[] {
	const name = `${method} ${path.replace(/\{(\w+)\}/g, ":$1")}` as RouteName;
	const roles: readonly Role[] | typeof OPEN | undefined = ACCESS[name];
	return roles === undefined || roles === OPEN ? ROLES : roles;
}

/** The same with everything in its place that is only referred to. */
function resolved(value: unknown, document: unknown, references: number): unknown {
	if (typeof value !== "object" || value === null) return value;
	if (Array.isArray(value)) return value.map((item) => resolved(item, document, references));
	const { $ref, ...rest } = value as { $ref?: string };
	const own = Object.fromEntries(
		Object.entries(rest).map(([name, part]) => [name, resolved(part, document, references)]),
	);
	if (typeof $ref !== "string") return own;
	if (references >= DEEPEST) return {};
	let target = document;
	for (const name of $ref.split("/").slice(1)) target = (target as Record<string, unknown>)[name];
	return { ...(resolved(target, document, references + 1) as object), ...own };
}
