import type { CreateRequest } from "../contract/executions.ts";
import { activeTraceparent } from "../tracing/trace-context.ts";

/** How work is to be run, and what it needs. */
export type SubmitOptions = Omit<CreateRequest, "kind" | "input" | "inputBase64">;

/**
 * Callers name other options from call to call. A spread then gives every copy a layout of its own, and whoever reads one
 * has to search it: a submit's check took 4 µs instead of 0.4.
 */
export const copyOf = <T extends object>(options: T): T => Object.assign({}, options);

/** Work continues the trace it is submitted in, unless it names one. */
export function continueTrace(request: { traceparent?: string | undefined }): void {
	if (request.traceparent !== undefined) return;
	const traceparent = activeTraceparent();
	if (traceparent !== undefined) request.traceparent = traceparent;
}

export function inputFields(input: unknown): Pick<CreateRequest, "input" | "inputBase64"> {
	if (input === undefined) return {};
	return input instanceof Uint8Array ? { inputBase64: Buffer.from(input).toString("base64") } : { input };
}
