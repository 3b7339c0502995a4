import { error } from "../../contract/replies/errors.ts";
import { one } from "../../contract/replies/parts.ts";
import { Type } from "../../contract/schema.ts";
import { ERRORS, type ErrorCode } from "../../kernel/errors.ts";
import type { Route } from "../routes/route.ts";
import { type JsonSchema, plain } from "./named-schemas.ts";

/** How a refusal of this status is called in the description. */
const NAMES: Readonly<Record<number, [name: string, description: string]>> = {
	400: ["Invalid", "The request is not valid; the message names the field and what is allowed"],
	401: ["Unauthorized", "The token is missing or not valid"],
	403: ["Forbidden", "The token's role or namespace does not allow this"],
	404: ["NotFound", "There is no such thing, or it belongs to another tenant"],
	409: ["Conflict", "It conflicts with what is there, or the state does not allow it; each case has its own code"],
	413: ["TooLarge", "The body or a payload in it is too large; `details` has the limit"],
	429: ["TooMany", "A limit is reached; try again after `Retry-After` seconds"],
	503: ["Unavailable", "The store does not answer, or the server is shutting down; try again"],
	504: ["TimedOut", "The store did not answer in time; try again"],
};

/** The refusals a route may give, by status. */
export function refusalsOf(route: Route, isOpen: boolean): Record<string, JsonSchema> {
	const reference = (status: number) => ({ $ref: `#/components/responses/${NAMES[status]?.[0]}` });
	return {
		...Object.fromEntries(statusesOf(route, isOpen).map((status) => [status, reference(status)])),
		default: { $ref: "#/components/responses/Failed" },
	};
}

function statusesOf({ name, body, takesBytes }: Route, isOpen: boolean): number[] {
	const [method = "", path = ""] = name.split(" ");
	if (!path.startsWith("/v1/")) return path === "/readyz" ? [400, 503] : path === "/metrics" ? [400, 401, 403] : [400];
	const reads = method === "GET";
	const hasBody = body !== undefined || takesBytes === true;
	return [
		400,
		401,
		...(isOpen ? [] : [403]),
		// Work and flows name budgets and quotas, which may not be there.
		...(path.includes(":") || (method === "POST" && hasBody) ? [404] : []),
		...(reads && !path.endsWith("/result") ? [] : [409]),
		...(hasBody ? [413] : []),
		...[429, 503, 504],
	];
}

/** Each status with the codes it may have, so that a generated client knows them. */
export function refusalResponses(): Record<string, JsonSchema> {
	const codes = Object.entries(ERRORS) as [ErrorCode, (typeof ERRORS)[ErrorCode]][];
	const named = Object.entries(NAMES).map(([status, [name, description]]) => {
		const own = codes.filter(([, entry]) => entry.status === Number(status)).map(([code]) => code);
		return [name, refusal(description, own, status === "429" || status === "503")];
	});
	const all = codes.map(([code]) => code);
	return { ...Object.fromEntries(named), Failed: refusal("Any other refusal, or a failure inside", all, false) };
}

function refusal(description: string, codes: ErrorCode[], hasRetryAfter: boolean): JsonSchema {
	const schema = plain(Type.Object({ error: Type.Object({ ...error.properties, code: one(codes) }) }));
	return {
		description,
		...(hasRetryAfter
			? { headers: { "Retry-After": { description: "Seconds to wait", schema: { type: "integer" } } } }
			: undefined),
		content: { "application/json": { schema } },
	};
}
