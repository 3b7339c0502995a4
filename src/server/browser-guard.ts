import type { FastifyInstance, FastifyRequest } from "fastify";
import { FlowFabricError } from "../contract/errors.ts";
import { isLoopback } from "./listening.ts";

export interface BrowserGuardOptions {
	/** Where the server was told to listen. */
	host: string;
	corsOrigins: readonly string[];
}

/**
 * Without tokens everybody who reaches the server may do everything, and every page in a browser on this machine can reach
 * it. Two checks keep pages out: a page of another site names that site as its `Origin`, and a page that had its own name
 * point to this machine (DNS rebinding) still sends that name as `Host`.
 */
export function guardAgainstBrowsers(app: FastifyInstance, { host, corsOrigins }: BrowserGuardOptions): void {
	app.addHook("onRequest", (request, _reply, done) => {
		const problem = hostProblem(request, host) ?? originProblem(request, corsOrigins);
		done(problem === undefined ? undefined : new FlowFabricError("forbidden", { message: problem }));
	});
}

function hostProblem({ headers }: FastifyRequest, listening: string): string | undefined {
	const name = hostNameOf(headers.host ?? "");
	if (name === "localhost" || name.endsWith(".localhost") || name === listening.toLowerCase()) return undefined;
	if (isLoopback(name)) return undefined;
	return "Host: must name this machine (localhost, 127.0.0.1 or [::1]) as long as the server has no tokens";
}

/** `[::1]:9090` and `localhost:9090` without their ports and brackets. */
const hostNameOf = (host: string): string =>
	host
		.replace(/:\d*$/, "")
		.replace(/^\[(.*)\]$/, "$1")
		.toLowerCase();

function originProblem({ headers }: FastifyRequest, allowed: readonly string[]): string | undefined {
	const { origin, host } = headers;
	if (origin === undefined || origin === `http://${host}` || origin === `https://${host}`) return undefined;
	if (allowed.includes("*") || allowed.includes(origin)) return undefined;
	return "Origin: pages of other sites are refused as long as the server has no tokens; FF_CORS_ORIGINS names exceptions";
}
