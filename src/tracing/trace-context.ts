import {
	type Context,
	context,
	isSpanContextValid,
	ProxyTracerProvider,
	type Span,
	SpanKind,
	SpanStatusCode,
	type Tracer,
	trace,
} from "@opentelemetry/api";

/**
 * W3C trace context between programs and executions. Only the API of OpenTelemetry is used: without an SDK in the
 * program every span here is an empty one, and what remains is that a traceparent is handed on as it came.
 */

const FORM = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

const NAME = "flowfabric";
const tracer: Tracer = trace.getTracer(NAME);

/** Whether anybody records spans in this program. */
export function isTraced(): boolean {
	const provider = trace.getTracerProvider();
	return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(NAME) !== undefined;
}

export const isTraceparent = (text: unknown): text is string => typeof text === "string" && FORM.test(text);

/** The traceparent of whatever the caller is in the middle of. */
export function activeTraceparent(): string | undefined {
	const active = trace.getSpanContext(context.active());
	if (!active || !isSpanContextValid(active)) return undefined;
	return `00-${active.traceId}-${active.spanId}-${(active.traceFlags & 1) === 1 ? "01" : "00"}`;
}

/** The active context as continued from a traceparent, if it is one. */
function continued(traceparent: unknown): Context {
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
	if (!isTraced()) return work();
	const parent = continued(traceparent);
	const { name, attributes, ...start } = describe();
	const kind = start.kind === "server" ? SpanKind.SERVER : SpanKind.CONSUMER;
	const span = tracer.startSpan(name, { kind, attributes }, parent);
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
