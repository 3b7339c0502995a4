import type { AnyEvent, ExecutionEvent } from "../../kernel/events.ts";
import { Type } from "../schema.ts";
import { at, count } from "./parts.ts";

/** What is told of what happened. */

export const event = Type.Unsafe<AnyEvent>(
	Type.Object(
		{
			seq: Type.Integer({
				minimum: 1,
				description: "1, 2, 3 … within its execution, or among the events of its flow as a whole",
			}),
			at,
			type: Type.String(),
			executionId: Type.Optional(Type.String({ description: "Left out for events of a flow as a whole" })),
			namespace: Type.String(),
			flowId: Type.Optional(Type.String()),
			attempt: Type.Optional(count),
			actor: Type.String({ description: "A token's name, a worker instance, or a background duty of the engine" }),
		},
		{ additionalProperties: true },
	),
);

export const eventPage = Type.Object({
	events: Type.Array(event),
	nextCursor: Type.String({ description: "Always present: continue from it to get later events" }),
});

/** A page of events. `nextCursor` is always there: reading on from it gives what happened since. */
export interface EventPage<E extends AnyEvent = AnyEvent> {
	events: E[];
	nextCursor: string;
}

/** A page of events of one execution. */
export interface ExecutionEventPage extends EventPage<ExecutionEvent> {}

/** An event and where reading goes on behind it. */
export interface FollowedEvent {
	cursor: string;
	event: ExecutionEvent;
}

/** How far work is, as its handler told it. `at` is when that was seen. */
export interface ProgressNotice {
	executionId: string;
	percent?: number;
	message?: string;
	at: number;
}
