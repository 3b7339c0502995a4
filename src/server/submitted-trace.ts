import type { FastifyRequest } from "fastify";
import { activeTraceparent, isTraceparent } from "../tracing/trace-context.ts";

/** Work continues the trace it was submitted in, unless it names one itself. */
export function withTrace(item: unknown, request: FastifyRequest): unknown {
	const { traceparent } = request.headers;
	const active = activeTraceparent() ?? (isTraceparent(traceparent) ? traceparent : undefined);
	if (active !== undefined && typeof item === "object" && item !== null && !Object.hasOwn(item, "traceparent")) {
		(item as { traceparent?: string }).traceparent = active;
	}
	return item;
}
