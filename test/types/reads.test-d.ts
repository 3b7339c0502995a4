import { expectTypeOf } from "vitest";
import type { AnyEvent, Cancel, Execution, ExecutionEvent, Failure, FlowFabric } from "../../src/index.ts";

/** Compiled by `npm run check`, never run: what must not compile stands under `@ts-expect-error`. */

declare const ff: FlowFabric;

export async function anExecutionIsNarrowedByItsState() {
	const execution = await ff.get("ex");
	expectTypeOf(execution).toEqualTypeOf<Execution>();
	expectTypeOf(execution.failure).toEqualTypeOf<Failure | undefined>();
	switch (execution.publicState) {
		case "failed":
		case "expired":
			expectTypeOf(execution.failure).toEqualTypeOf<Failure>();
			expectTypeOf(execution.completedAt).toEqualTypeOf<number>();
			break;
		case "completed":
			expectTypeOf(execution.failure).toEqualTypeOf<undefined>();
			expectTypeOf(execution.completedAt).toEqualTypeOf<number>();
			break;
		case "cancelled":
			expectTypeOf(execution.cancel).toEqualTypeOf<Cancel>();
			expectTypeOf(execution.failure).toEqualTypeOf<undefined>();
			break;
		case "skipped":
			expectTypeOf(execution.completedAt).toEqualTypeOf<number>();
			break;
		default:
			expectTypeOf(execution.completedAt).toEqualTypeOf<undefined>();
			expectTypeOf(execution.failure).toEqualTypeOf<Failure | undefined>();
	}
	// @ts-expect-error: there is no failure before the state is known
	execution.failure.reason;
	// @ts-expect-error: there is no such state
	if (execution.publicState === "done") return;

	const { executions } = await ff.list({ state: "failed" });
	for (const found of executions) if (found.publicState === "failed") expectTypeOf(found.failure.reason).toBeString();
	const waited = await ff.wait("ex");
	if (waited.publicState === "completed") expectTypeOf(waited.completedAt).toBeNumber();
}

export async function anEventIsNarrowedByItsType() {
	const { events } = await ff.events("ex");
	for (const event of events) {
		expectTypeOf(event.executionId).toEqualTypeOf<string>();
		switch (event.type) {
			case "retry_scheduled":
				expectTypeOf(event.retryAt).toEqualTypeOf<number>();
				expectTypeOf(event.reason).toEqualTypeOf<string>();
				break;
			case "claimed":
				expectTypeOf(event.leaseId).toEqualTypeOf<string>();
				expectTypeOf(event.attemptType).toEqualTypeOf<"initial" | "retry" | "reclaim" | "replay">();
				// @ts-expect-error: nobody scheduled anything
				event.retryAt;
				break;
			case "priority_changed":
				expectTypeOf([event.from, event.to]).toEqualTypeOf<number[]>();
				break;
			// @ts-expect-error: there is no such type
			case "finished":
				break;
		}
		// @ts-expect-error: not every event tells a reason
		event.reason;
	}
	for (const event of events) if ("reason" in event) expectTypeOf(event.reason).toEqualTypeOf<string>();
	for await (const { event } of ff.follow("ex")) expectTypeOf(event).toEqualTypeOf<ExecutionEvent>();
}

export async function eventsOfFlowsTellThemselvesApart() {
	const { events } = await ff.feed();
	for (const event of events) {
		expectTypeOf(event).toEqualTypeOf<AnyEvent>();
		if (event.type === "flow_ended") expectTypeOf(event.state).toEqualTypeOf<"completed" | "failed" | "cancelled">();
		if (event.type === "failed") expectTypeOf(event.category).toEqualTypeOf<string>();
		if (event.executionId === undefined) expectTypeOf(event.flowId).toEqualTypeOf<string>();
	}
	const failed: ExecutionEvent<"failed">[] = events.filter((event) => event.type === "failed");
	expectTypeOf(failed[0]?.reason).toEqualTypeOf<string | undefined>();
}
