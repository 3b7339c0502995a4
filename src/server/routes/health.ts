import type { FastifyReply, FastifyRequest } from "fastify";
import type { Calls } from "../../contract/backend.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import { Type } from "../../contract/schema.ts";
import { refuseOtherRoles, type TokenBook } from "../auth.ts";
import { isLoopback } from "../listening.ts";
import type { ServerContext } from "../server-context.ts";
import { VERSION } from "../version.ts";
import { inArea, type Route } from "./route.ts";

const greeting = Type.Object({
	name: Type.String(),
	version: Type.String(),
	api: Type.String({ description: "Path all calls begin with" }),
	docs: Type.Optional(Type.String()),
	openapi: Type.Optional(Type.String()),
});

const alive = Type.Object({ status: Type.Literal("ok") });

export interface HealthSettings {
	backend: Calls;
	tokens: TokenBook;
	openMetrics: boolean;
	/** Whether `/docs` and `/openapi.json` are served. */
	docs: boolean;
}

export function healthRoutes(context: ServerContext, { backend, tokens, openMetrics, docs }: HealthSettings): Route[] {
	return inArea("health", [
		{
			name: "GET /",
			summary: "What this server is and where to go on; a browser is led to the docs",
			replies: { 200: greeting, 302: "nothing" },
			handle(request, reply) {
				if (docs && request.headers.accept?.includes("text/html")) return reply.redirect("/docs");
				const links = docs ? { docs: "/docs", openapi: "/openapi.json" } : {};
				return { name: "FlowFabric", version: VERSION, api: "/v1", ...links };
			},
		},
		{
			name: "GET /healthz",
			summary: "The process is alive",
			replies: { 200: alive },
			handle: () => ({ status: "ok" }),
		},
		{
			name: "GET /readyz",
			summary: "The store answers and accepts changes, and the server accepts calls",
			replies: { 200: alive },
			async handle() {
				if (context.closing) throw new FlowFabricError("shutting_down");
				await backend.admin.ready();
				return { status: "ok" };
			},
		},
		{
			name: "GET /metrics",
			summary: "Metrics for Prometheus; open on loopback, elsewhere only with a token unless configured otherwise",
			replies: { 200: "text" },
			handle(request, reply) {
				const isOpenTo = openMetrics || isFromHere(request);
				const principal = isOpenTo && !showsToken(request) ? undefined : tokens.principalOf(request);
				if (principal && !isOpenTo) refuseOtherRoles(principal, READERS);
				return metrics(context, reply, principal?.namespace);
			},
		},
	]);
}

const READERS = ["viewer", "operator", "admin"] as const;

/** A proxy on this machine speaks for somebody else, and says so. */
function isFromHere({ socket, headers }: FastifyRequest): boolean {
	if (headers.forwarded !== undefined || headers["x-forwarded-for"] !== undefined) return false;
	return isLoopback(socket.remoteAddress ?? "");
}

const showsToken = ({ headers }: FastifyRequest): boolean => headers.authorization !== undefined;

async function metrics({ metrics }: ServerContext, reply: FastifyReply, namespace?: string): Promise<string> {
	reply.type(metrics.registry.contentType);
	return namespace === undefined ? metrics.registry.metrics() : metrics.ofNamespace(namespace);
}
