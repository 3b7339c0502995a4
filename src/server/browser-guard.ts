import type { IncomingHttpHeaders } from "node:http";
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
 * it. Two checks keep pages out: a page of another site names that site as its `Origin`, or the browser says of a request
 * without one, as for a script or an image, that it comes from another site; and a page that had its own name point to this
 * machine (DNS rebinding) still sends that name as `Host`.
 */
export function guardAgainstBrowsers(app: FastifyInstance, options: BrowserGuardOptions): void {
	app.addHook("onRequest", (request, _reply, done) => done(browserRefusal(request, options)));
}

/** Why a request is not answered on a server without tokens, if it is not. */
export function browserRefusal(
	request: FastifyRequest,
	{ host, corsOrigins }: BrowserGuardOptions,
): FlowFabricError | undefined {
	const problem = hostProblem(request, host) ?? originProblem(request, corsOrigins);
	return problem === undefined ? undefined : new FlowFabricError("forbidden", { message: problem });
}

function hostProblem(request: FastifyRequest, listening: string): string | undefined {
	if (namesThisMachine(request) || hostNameOf(request) === listening.toLowerCase()) return undefined;
	return "Host: must name this machine (localhost, 127.0.0.1 or [::1]) as long as the server has no tokens";
}

/** Whether a request was sent to a name that leads to this machine wherever it is looked up. */
export function namesThisMachine(request: FastifyRequest): boolean {
	const name = hostNameOf(request);
	return name === "localhost" || name.endsWith(".localhost") || isLoopback(name);
}

/** `[::1]:9090` and `localhost:9090` without their ports and brackets. */
const hostNameOf = ({ headers: { host = "" } }: FastifyRequest): string =>
	host
		.replace(/:\d*$/, "")
		.replace(/^\[(.*)\]$/, "$1")
		.toLowerCase();

function originProblem({ headers }: FastifyRequest, allowed: readonly string[]): string | undefined {
	const { origin, host } = headers;
	if (origin === undefined) return isEmbedded(headers) ? FOREIGN_ORIGIN : undefined;
	if (origin === `http://${host}` || origin === `https://${host}`) return undefined;
	if (allowed.includes("*") || allowed.includes(origin)) return undefined;
	return FOREIGN_ORIGIN;
}

const FOREIGN_ORIGIN =
	"Origin: pages of other sites are refused as long as the server has no tokens; FF_CORS_ORIGINS names exceptions";

/** Whether a page of another site loads this as a part of itself; a link to here is followed by a person. */
function isEmbedded({ "sec-fetch-site": site, "sec-fetch-mode": mode }: IncomingHttpHeaders): boolean {
	return (site === "cross-site" || site === "same-site") && mode !== "navigate";
}
