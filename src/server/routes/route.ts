import type { Span } from "@opentelemetry/api";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { FlowFabricError } from "../../contract/errors.ts";
import { type TSchema, Type } from "../../contract/schema.ts";
import { type Shape, shape } from "../../contract/validate.ts";
import { inSpan, isTraced } from "../../tracing/trace-context.ts";
import { ACCESS, isAudited, OPEN, type Role, type RouteName } from "../access.ts";
import { type Handler, inTime } from "../answer-deadline.ts";
import type { Audit } from "../audit.ts";
import { type Principal, refuseOtherRoles, type TokenBook } from "../auth.ts";
import { CONTROL_LIMIT } from "../bodies.ts";
import { holdLargeBodies, LARGE_BODY } from "../large-bodies.ts";
import type { ServerMetrics } from "../metrics.ts";
import { refuseQuery } from "../query.ts";
import type { ServerContext } from "../server-context.ts";

declare module "fastify" {
	interface FastifyRequest {
		principal: Principal;
	}
}

/** What a reply looks like, for the docs. */
export type ReplyShape = TSchema | "bytes" | "text" | "nothing";

/** One route: everything there is to know about it stands here and in the access table. */
export interface Route {
	name: RouteName;
	area: string;
	summary: string;
	/** The shape of the body; the backend checks it, the docs show it. */
	body?: TSchema;
	/** True when a call without a body means an empty one. */
	bodyOptional?: boolean;
	bodyLimit?: number;
	/** The body is whatever it is, of any type. */
	takesBytes?: true;
	query?: Shape<TSchema>;
	/** By status; errors are the same everywhere and not named. */
	replies: Record<number, ReplyShape>;
	/** How long a call waits for something before it is answered, as its caller has said. */
	waitMs?(request: FastifyRequest): unknown;
	/** Whether this call is answered only when all is done, which may take longer. */
	untilDone?(request: FastifyRequest): boolean;
	/** Also answers as an event stream when asked to. */
	streams?: boolean;
	/** An action of an operator: one line in the log says who did it, to what, and how it went. */
	audit?: Audit;
	handle(request: FastifyRequest, reply: FastifyReply): unknown;
}

/** The body of calls that say all by their path. */
export const emptyBody = shape(Type.Object({}, { additionalProperties: false, allowed: "must be an object" }));

/** Calls whose every field is optional may leave out the body. */
export const orEmpty = (body: unknown): never => (body === undefined ? {} : body) as never;

/** Routes of one area of the interface. */
export const inArea = (area: string, routes: Omit<Route, "area">[]): Route[] =>
	routes.map((route) => ({ ...route, area }));

/** Makes sure every route is guarded, answered in time, counted, traced and documented alike. */
export function addRoutes(
	app: FastifyInstance,
	context: ServerContext,
	tokens: TokenBook,
	requestTimeoutMs: number,
	routes: readonly Route[],
): void {
	for (const route of routes) {
		const roles = rolesOf(route);
		if (isAudited(route.name) !== (route.audit !== undefined))
			throw new TypeError(`${route.name} must ${route.audit ? "not " : ""}leave an audit line`);
		const [method = "", url = ""] = route.name.split(" ");
		const { metrics, pools } = context;
		const { bodyLimit = CONTROL_LIMIT } = route;
		const { area, waitMs, untilDone } = route;
		const handle = inTime(traced(route, url), { requestTimeoutMs, area, waitMs, untilDone });
		app.route({
			method,
			url,
			bodyLimit,
			...(bodyLimit > LARGE_BODY ? holdLargeBodies(pools.large_bodies) : undefined),
			onRequest(request, _reply, done) {
				try {
					if (roles !== OPEN) {
						if (context.closing) throw new FlowFabricError("shutting_down");
						request.principal = tokens.principalOf(request);
						refuseTooOften(request.principal, metrics);
						refuseOtherRoles(request.principal, roles);
					}
					if (!route.query) refuseQuery(request.query);
					done();
				} catch (error) {
					done(error as Error);
				}
			},
			onResponse(_request, reply, done) {
				metrics.request(route.name, reply.statusCode, reply.elapsedTime);
				done();
			},
			handler: route.audit === undefined ? handle : audited(handle, route.audit, context),
		});
	}
}

/** Before anything of the body is read: whoever asks too often costs no more than being told so. */
function refuseTooOften({ name, rate }: Principal, metrics: ServerMetrics): void {
	if (!rate || rate.take()) return;
	metrics.refusedByRate(name);
	throw rate.refusal(name);
}

/** Who may call a route. */
export function rolesOf({ name }: Route): readonly Role[] | typeof OPEN {
	const roles: readonly Role[] | typeof OPEN | undefined = ACCESS[name];
	if (!roles) throw new TypeError(`${name} is not in the table of access`);
	return roles;
}

export const instanceOf = (request: FastifyRequest): string => (request.params as { instanceId: string }).instanceId;

export const idOf = (request: FastifyRequest): string => (request.params as { id: string }).id;

function traced(route: Route, url: string): Handler {
	const start = { name: route.name, kind: "server" as const, attributes: { "http.route": url } };
	const describe = () => start;
	return (request, reply) => {
		if (!isTraced()) return route.handle(request, reply);
		return inSpan(describe, request.headers.traceparent, async (span?: Span) => {
			const answer = await route.handle(request, reply);
			span?.setAttribute("http.response.status_code", reply.statusCode);
			return answer;
		});
	};
}

function audited(handle: Handler, { what, target, result }: Audit, { log }: ServerContext): Handler {
	return async (request, reply) => {
		const line = { audit: true, who: request.principal.name, what, ...target(request), requestId: request.id };
		try {
			const answer = await handle(request, reply);
			log.info({ ...line, ...result?.(answer), outcome: "ok" }, "audit");
			return answer;
		} catch (error) {
			log.info({ ...line, outcome: error instanceof FlowFabricError ? error.code : "internal" }, "audit");
			throw error;
		}
	};
}
