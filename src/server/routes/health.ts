import type { FastifyReply, FastifyRequest } from "fastify";
import { Registry } from "prom-client";
import type { Calls } from "../../contract/backend.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import { Type } from "../../contract/schema.ts";
import { refuseOtherRoles, type TokenBook } from "../auth.ts";
import { namesThisMachine } from "../browser-guard.ts";
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

/** What proxies add, which speak for somebody else. */
const BY_PROXY = /^(forwarded|via|x-real-ip|x-forwarded-.*)$/;

/** Whether a program on this machine asks for itself: no proxy, and no page in a browser that had its name lead here. */
function isFromHere(request: FastifyRequest): boolean {
	const { socket, headers } = request;
	if (!isLoopback(socket.remoteAddress ?? "") || !namesThisMachine(request)) return false;
	return !Object.keys(headers).some((name) => BY_PROXY.test(name));
}

const showsToken = ({ headers }: FastifyRequest): boolean => headers.authorization !== undefined;

async function metrics({ metrics }: ServerContext, reply: FastifyReply, namespace?: string): Promise<string> {
	reply.type(Registry.PROMETHEUS_CONTENT_TYPE);
	return namespace === undefined ? metrics.ofAll() : metrics.ofNamespace(namespace);
}
