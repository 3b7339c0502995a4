import type { ClaimedExecution } from "../contract/replies.ts";
import { inSpan, type SpanStart } from "../tracing/trace-context.ts";
import type { Context, Handler, Middleware } from "./context.ts";

/** Does `work` in a span of the trace that the execution was submitted in. */
export function inSpanOf<T>(claimed: ClaimedExecution, work: () => Promise<T>): Promise<T> {
	return inSpan(() => spanOf(claimed), claimed.traceparent, work);
}

const spanOf = ({ id, kind, lane, attempt }: ClaimedExecution): SpanStart => ({
	name: `run ${kind}`,
	kind: "consumer",
	attributes: {
		"flowfabric.execution": id,
		"flowfabric.kind": kind,
		"flowfabric.lane": lane,
		"flowfabric.attempt": attempt.index,
	},
});

/** Runs the middleware from some place on, then the handler. What throws at once fails like what throws later. */
export async function runThrough(
	middleware: readonly Middleware[],
	context: Context,
	handler: Handler,
	from = 0,
): Promise<unknown> {
	const next = middleware[from];
	return next
		? next(context, () => runThrough(middleware, context, handler, from + 1))
		: handler(context as Context<never>, context.input as never);
}
