import { context, SpanKind, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Stand, until } from "./stand.ts";

const spans = new InMemorySpanExporter();

beforeAll(() => {
	context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
	trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
});

afterAll(() => {
	trace.disable();
	context.disable();
});

test("one trace goes from the submitter through the server to the handler", async () => {
	const stand = await Stand.open();
	const ff = stand.connect();
	const worker = ff.worker({ handleSignals: false });
	let inside: string | undefined;
	worker.handle("job", () => {
		inside = trace.getActiveSpan()?.spanContext().traceId;
	});
	await worker.start();
	const root = trace.getTracer("test").startSpan("submitter");
	const run = await context.with(trace.setSpan(context.active(), root), () => ff.submit("job"));
	root.end();
	await run.wait();
	await worker.stop();
	const { traceId, spanId } = root.spanContext();
	const found = await until(() => {
		const of = spans.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
		return of.length >= 3 ? of : undefined;
	});
	const server = found.find(({ name }) => name === "POST /v1/executions");
	expect(server).toMatchObject({ kind: SpanKind.SERVER, parentSpanContext: { spanId } });
	expect(server?.attributes["http.response.status_code"]).toBe(201);
	const handler = found.find(({ name }) => name === "run job");
	expect(handler).toMatchObject({ kind: SpanKind.CONSUMER, parentSpanContext: { spanId } });
	expect(inside).toBe(traceId);
});

test("the traceparent that work names itself wins over the one it is submitted in", async () => {
	const stand = await Stand.open();
	const own = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
	const header = `00-${"c".repeat(32)}-${"d".repeat(16)}-01`;
	const submit = async (body: object) => {
		await stand.call("POST", "/v1/executions", { body, headers: { traceparent: header } });
		const [claimed] = await stand.backend.leases.claim({ workerId: "w", instanceId: "i" });
		return claimed?.traceparent;
	};
	expect(await submit({ kind: "job", traceparent: own })).toBe(own);
	expect(await submit({ kind: "job" })).toMatch(new RegExp(`^00-${"c".repeat(32)}-(?!${"d".repeat(16)})`));
	trace.disable();
	expect(await submit({ kind: "job" })).toBe(header);
});
