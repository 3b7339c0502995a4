import { createServer } from "node:http";
import cors from "@fastify/cors";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { Type } from "../contract/schema.ts";
import { sendInPieces } from "./answer-pieces.ts";
import { TokenBook } from "./auth.ts";
import { BODY_LIMIT, parseBodies, takeBytes } from "./bodies.ts";
import { browserRefusal, guardAgainstBrowsers } from "./browser-guard.ts";
import { serveDocsPage } from "./docs-page.ts";
import { answerBadConnection, handleErrors, sendError, translated } from "./errors.ts";
import { makeSafe, requestIds, setHeaders } from "./headers.ts";
import { oneByOne } from "./one-by-one.ts";
import { apiDocument } from "./openapi/document.ts";
import type { ServerOptions } from "./options.ts";
import { actionRoutes } from "./routes/actions.ts";
import { adminRoutes } from "./routes/admin.ts";
import { budgetRoutes } from "./routes/budgets.ts";
import { executionRoutes } from "./routes/executions.ts";
import { feedRoutes } from "./routes/feed.ts";
import { flowRoutes } from "./routes/flows.ts";
import { healthRoutes } from "./routes/health.ts";
import { laneRoutes } from "./routes/lanes.ts";
import { leaseRoutes } from "./routes/leases.ts";
import { quotaRoutes } from "./routes/quotas.ts";
import { addRoutes, inArea, type Route } from "./routes/route.ts";
import { streamRoutes } from "./routes/streams.ts";
import { waitpointRoutes } from "./routes/waitpoints.ts";
import { workerRoutes } from "./routes/workers.ts";
import type { ServerContext } from "./server-context.ts";

const HEADERS_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Long enough for 256 characters of any script; longer ones are refused by name up to here, not as an unknown route. */
const MAX_PARAM_LENGTH = 4096;

/** The whole HTTP interface, not yet listening. */
export async function makeApp(
	options: ServerOptions,
	context: ServerContext,
): Promise<{ app: FastifyInstance; guarded: boolean }> {
	const tokens = new TokenBook(options);
	const requestTimeout = options.requestTimeoutMs ?? 30_000;
	const settings = {
		requestTimeout,
		keepAliveTimeout: options.keepAliveMs ?? 72_000,
		headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeout),
		connectionsCheckingInterval: Math.min(1000, requestTimeout),
		maxHeaderSize: MAX_HEADER_BYTES,
		noDelay: true,
		// A request without a Host is refused by us if it is to be.
		requireHostHeader: false,
	};
	const { host = "127.0.0.1", corsOrigins = [] } = options;
	const guard = { host, corsOrigins };
	const app = fastify({
		genReqId: requestIds(),
		bodyLimit: BODY_LIMIT,
		requestTimeout,
		return503OnClosing: false,
		forceCloseConnections: "idle",
		exposeHeadRoutes: false,
		routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
		serverFactory(handle) {
			const listener = oneByOne(handle, () => context.metrics.cutConnection());
			// Whatever is expected, Node would refuse it in a form of its own.
			return createServer(settings, listener).on("checkExpectation", listener);
		},
		clientErrorHandler: answerBadConnection,
		frameworkErrors(error, request, reply) {
			makeSafe(request, reply);
			const refusal = tokens.guarded ? undefined : browserRefusal(request, guard);
			void sendError(reply, refusal ?? translated(error, request));
		},
	}) as unknown as FastifyInstance;
	app.server.maxConnections = options.maxConnections ?? 8192;
	app.decorateRequest("principal");
	parseBodies(app);
	setHeaders(app, () => context.closing);
	app.addHook("onSend", sendInPieces);
	if (!tokens.guarded) guardAgainstBrowsers(app, guard);
	if (corsOrigins.length > 0) {
		await app.register(cors, {
			origin: [...corsOrigins],
			methods: ["GET", "POST", "PUT", "PATCH", "DELETE"],
			allowedHeaders: ["authorization", "content-type", "last-event-id", "traceparent", "x-request-id"],
			exposedHeaders: ["retry-after", "x-request-id"],
		});
	}
	const known = new KnownPaths();
	handleErrors(app, context.log, (path) => known.methodsOf(path));
	app.addHook("onRoute", ({ method, url }) => known.add(url, method));
	const docs = options.docs ?? true;
	const backend = options.backendFor({ actor: "health" });
	const { openMetrics = false } = options;
	const routes: Route[] = [
		...executionRoutes(context),
		...actionRoutes(),
		...leaseRoutes(context),
		...workerRoutes(),
		...laneRoutes(),
		...budgetRoutes(),
		...quotaRoutes(),
		...waitpointRoutes(options.backendFor({ actor: "anyone" })),
		...streamRoutes(context),
		...flowRoutes(context),
		...feedRoutes(context),
		...adminRoutes(context),
		...healthRoutes(context, { backend, tokens, openMetrics, docs }),
		...(docs ? inArea("health", [openApiRoute((): object => apiDocument(routes))]) : []),
	];
	if (docs) serveDocsPage(app);
	addRoutes(
		app,
		context,
		tokens,
		requestTimeout,
		routes.filter(({ takesBytes: isRaw }) => !isRaw),
	);
	await app.register(async (raw) => {
		takeBytes(raw);
		addRoutes(
			raw,
			context,
			tokens,
			requestTimeout,
			routes.filter(({ takesBytes: isRaw }) => isRaw),
		);
	});
	await app.ready();
	return { app, guarded: tokens.guarded };
}

/**
 * Written once, when first asked for: anyone may ask for it, again and again, and whoever does not read it holds no copy of
 * their own.
 */
function openApiRoute(describe: () => object) {
	let document: Buffer | undefined;
	return {
		name: "GET /openapi.json" as const,
		summary: "This description",
		replies: { 200: Type.Object({}) },
		handle(_request: FastifyRequest, reply: FastifyReply) {
			document ??= Buffer.from(JSON.stringify(describe()));
			return reply.type("application/json; charset=utf-8").send(document);
		},
	};
}

/** Which methods a path has, to tell a wrong method from a wrong path. */
class KnownPaths {
	readonly #paths = new Map<string, { form: RegExp; methods: Set<string> }>();

	add(url: string, method: string | string[]): void {
		const escaped = url.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/:\w+/g, "[^/]*");
		const known = this.#paths.get(url) ?? { form: new RegExp(`^${escaped}$`), methods: new Set<string>() };
		this.#paths.set(url, known);
		for (const each of [method].flat()) known.methods.add(each);
	}

	methodsOf(path: string): string[] {
		const found = [...this.#paths.values()].filter(({ form }) => form.test(path));
		return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort();
	}
}
