import type { Context, Span } from "@opentelemetry/api";
import { type OpenTelemetry, openTelemetry } from "./open-telemetry.ts";

/**
 * W3C trace context between programs and executions. Only the API of OpenTelemetry is used: without an SDK in the
 * program every span here is an empty one, and what remains is that a traceparent is handed on as it came.
 */

const FORM = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

const NAME = "flowfabric";

/** Whether anybody records spans in this program. */
export function isTraced(): boolean {
	return recorder() !== undefined;
}

/** The API, if somebody records spans with it. */
function recorder(): OpenTelemetry | undefined {
	const api = openTelemetry();
	const provider = api?.trace.getTracerProvider();
	const isProxy = api !== undefined && provider instanceof api.ProxyTracerProvider;
	return isProxy && provider.getDelegateTracer(NAME) === undefined ? undefined : api;
}

export const isTraceparent = (text: unknown): text is string => typeof text === "string" && FORM.test(text);

/** The traceparent of whatever the caller is in the middle of. */
export function activeTraceparent(): string | undefined {
	const api = openTelemetry();
	const active = api?.trace.getSpanContext(api.context.active());
	if (!active || !api?.isSpanContextValid(active)) return undefined;
	return `00-${active.traceId}-${active.spanId}-${(active.traceFlags & 1) === 1 ? "01" : "00"}`;
}

/** The active context as continued from a traceparent, if it is one. */
function continued({ context, trace }: OpenTelemetry, traceparent: unknown): Context {
	const parts = typeof traceparent === "string" ? FORM.exec(traceparent) : null;
	if (!parts) return context.active();
	const [, traceId = "", spanId = "", flags = "00"] = parts;
	return trace.setSpanContext(context.active(), {
		traceId,
		spanId,
		traceFlags: Number.parseInt(flags, 16),
		isRemote: true,
	});
}

export interface SpanStart {
	name: string;
	kind: "server" | "consumer";
	attributes: Record<string, string | number>;
}

/** Runs `work` in a span that continues a traceparent; when nobody records, just runs it and describes no span. */
export function inSpan<T>(
	describe: () => SpanStart,
	traceparent: unknown,
	work: (span?: Span) => Promise<T>,
): Promise<T> {
	const api = recorder();
	if (!api) return work();
	const { context, SpanKind, SpanStatusCode, trace } = api;
	const parent = continued(api, traceparent);
	const { name, attributes, ...start } = describe();
	const kind = start.kind === "server" ? SpanKind.SERVER : SpanKind.CONSUMER;
	const span = trace.getTracer(NAME).startSpan(name, { kind, attributes }, parent);
	if (!span.isRecording()) return context.with(parent, work);
	return context.with(trace.setSpan(parent, span), async () => {
		try {
			return await work(span);
		} catch (error) {
			span.recordException(error instanceof Error ? error : String(error));
			span.setStatus({ code: SpanStatusCode.ERROR });
			throw error;
		} finally {
			span.end();
		}
	});
}
