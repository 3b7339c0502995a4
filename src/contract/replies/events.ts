import type { AnyEvent, ExecutionEvent } from "../../kernel/events.ts";
import { Type } from "../schema.ts";
import { at, count, text } from "./parts.ts";

/** What is told of what happened. */

export const event = Type.Unsafe<AnyEvent>(
	Type.Object(
		{
			seq: Type.Integer({
				minimum: 1,
				description: "1, 2, 3 … within its execution, or among the events of its flow as a whole",
			}),
			at: at("When it happened"),
			type: text("What happened; the other fields follow from it"),
			executionId: Type.Optional(text("The execution it happened to; left out for events of a flow as a whole")),
			namespace: text("The namespace it happened in"),
			flowId: Type.Optional(text("The flow it happened to, or that the execution is a member of")),
			attempt: Type.Optional(count("The attempt that was the current one; left out before the first claim")),
			actor: text("Who did it: a token's name, a worker instance, or a background duty of the engine"),
		},
		{ additionalProperties: true },
	),
);

export const eventPage = Type.Object({
	events: Type.Array(event, { description: "Oldest first" }),
	nextCursor: text("Always present: continue from it to get later events"),
});

/** A page of events. `nextCursor` is always there: reading on from it gives what happened since. */
export interface EventPage<E extends AnyEvent = AnyEvent> {
	/** Oldest first. */
	events: E[];
	/** Always there: continue from it to get later events. */
	nextCursor: string;
}

/** A page of events of one execution. */
export interface ExecutionEventPage extends EventPage<ExecutionEvent> {}

/** An event and where reading goes on behind it. */
export interface FollowedEvent {
	/** Following on from here begins behind this event. */
	cursor: string;
	/** What happened. */
	event: ExecutionEvent;
}

/** How far work is, as its handler told it. `at` is when that was seen. */
export interface ProgressNotice {
	/** The execution. */
	executionId: string;
	/** How far it is, from 0 to 100. */
	percent?: number;
	/** What it is doing. */
	message?: string;
	/** When that was seen: Unix milliseconds of the store's clock. */
	at: number;
}
