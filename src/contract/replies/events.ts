import Type, { type Static } from "typebox";
import type { ExecutionEvent } from "../../kernel/events.ts";
import { at, count } from "./parts.ts";

/** What is told of what happened. */

export const event = Type.Unsafe<ExecutionEvent>(
	Type.Object(
		{
			seq: Type.Integer({ minimum: 1, description: "1, 2, 3 … within its execution" }),
			at,
			type: Type.String(),
			executionId: Type.String(),
			namespace: Type.String(),
			flowId: Type.Optional(Type.String()),
			attempt: Type.Optional(count),
			actor: Type.String({ description: "A token's name, a worker instance, or a duty of the engine" }),
		},
		{ additionalProperties: true },
	),
);

export const eventPage = Type.Object({
	events: Type.Array(event),
	nextCursor: Type.String({ description: "Always there: reading on from it gives what happened since" }),
});

/** A page of events. `nextCursor` is always there: reading on from it gives what happened since. */
export interface EventPage extends Static<typeof eventPage> {}

/** An event and where reading goes on behind it. */
export interface FollowedEvent {
	cursor: string;
	event: ExecutionEvent;
}
