import type { ExecutionEventDetails, FlowEventDetails } from "./event-details.ts";
import { quoted, quotedName } from "./quoted.ts";
import { parseDocument } from "./records/record.ts";
import { kindOf, UnreadableRecord } from "./unreadable.ts";

/** What can happen to an execution. */
export type ExecutionEventType = keyof ExecutionEventDetails;

/** What is told of a flow as a whole. */
export type FlowEventType = keyof FlowEventDetails;

/** What can happen to an execution or to a flow. */
export type EventType = ExecutionEventType | FlowEventType;

/** The events after which an execution has ended. */
export const ENDINGS: ReadonlySet<EventType> = new Set(["completed", "failed", "cancelled", "expired", "skipped"]);

interface EventFields {
	/** When it happened: Unix milliseconds of the store's clock. */
	at: number;
	/** The namespace it happened in. */
	namespace: string;
	/** Who did it: a token's name, a worker instance, or a named duty of the engine. */
	actor: string;
}

interface ExecutionEventFields extends EventFields {
	/** 1, 2, 3 … within its execution. */
	seq: number;
	/** The execution it happened to. */
	executionId: string;
	/** The flow it is a member of. */
	flowId?: string;
	/** The attempt that was the current one; left out before the first claim. */
	attempt?: number;
}

interface FlowEventFields extends EventFields {
	/** 1, 2, 3 … among what is told of its flow as a whole. */
	seq: number;
	/** Never there: it tells of a flow as a whole. */
	executionId?: undefined;
	/** The flow it happened to. */
	flowId: string;
}

/**
 * One transition, appended in the same atomic step as the change it tells of. What it says beyond the common fields follows
 * from its `type`: checking that narrows it.
 */
export type ExecutionEvent<T extends ExecutionEventType = ExecutionEventType> = {
	[N in T]: ExecutionEventFields & {
		/** What happened; the other fields follow from it. */
		type: N;
	} & ExecutionEventDetails[N];
}[T];

/** A change of a flow as a whole; what it says beyond the common fields follows from its `type`. */
export type FlowEvent<T extends FlowEventType = FlowEventType> = {
	[N in T]: FlowEventFields & {
		/** What happened; the other fields follow from it. */
		type: N;
	} & FlowEventDetails[N];
}[T];

/** An event of an execution, or of a flow as a whole, which has no `executionId`. */
export type AnyEvent = ExecutionEvent | FlowEvent;

/** An event as a rule writes it down, before it is known whose it is. */
export type EventDraft<T extends EventType = EventType> = {
	[N in T]: { type: N } & Details<
		(N extends ExecutionEventType ? ExecutionEventDetails[N] : unknown) &
			(N extends FlowEventType ? FlowEventDetails[N] : unknown)
	>;
}[T];

type Details<D> = { [P in keyof D]?: D[P] | undefined };

/**
 * An event as rules emit it. Its namespace is the log it goes into, its execution the owner of its history, its flow the
 * group it is read by too, or the owner of what is told of it as a whole; only the body is written as a document, and says
 * none of that again.
 */
export type EmittedEvent = { namespace: string; at: number; body: EventBody } & (
	| { executionId: string; flowId?: string }
	| { executionId?: never; flowId: string }
);

export interface EventBody {
	seq: number;
	type: EventType;
	attempt?: number;
	actor: string;
	[detail: string]: unknown;
}

/** What JSON says of it, quicker: there are several events in every execution's life. */
export function encodeEvent(body: EventBody): string {
	const { seq, type, actor } = body;
	let text = `{"seq":${seq},"type":"${type}","actor":${quotedName(actor)}`;
	for (const name in body) {
		if (name === "seq" || name === "type" || name === "actor") continue;
		const value = body[name];
		if (typeof value === "number") text += `,"${name}":${value}`;
		else if (typeof value === "string") text += `,"${name}":${quoted(value)}`;
		else if (value !== undefined) text += `,"${name}":${JSON.stringify(value)}`;
	}
	return `${text}}`;
}

/** An event as a store gives it back. */
export interface StoredEvent {
	log: string;
	owner: string;
	group?: string;
	at: number;
	body: string;
}

/** Throws `UnreadableRecord` where it is no event. */
export function decodeEvent({ log, owner, group, at, body }: StoredEvent): AnyEvent {
	const { seq, type, ...details } = bodyOf(body, at);
	if (owner.startsWith("fl_")) return { seq, at, type, namespace: log, flowId: owner, ...details } as AnyEvent;
	const flow = group === undefined ? undefined : { flowId: group };
	return { seq, at, type, executionId: owner, namespace: log, ...flow, ...details } as AnyEvent;
}

function bodyOf(body: string, at: unknown): EventBody {
	let parsed: Record<string, unknown>;
	try {
		parsed = parseDocument(body);
	} catch {
		throw new UnreadableRecord({ field: "", problem: "is not a JSON object" });
	}
	const { seq, type, actor } = parsed;
	check("at", at, "number");
	check("seq", seq, "number");
	check("type", type, "string");
	check("actor", actor, "string");
	return parsed as EventBody;
}

function check(field: string, value: unknown, kind: "number" | "string"): void {
	if (typeof value === kind && (kind === "string" || Number.isFinite(value))) return;
	throw new UnreadableRecord({ field, problem: `must be a ${kind}, is ${kindOf(value)}` });
}

/** What an event is called where it is told of: whose it is, and its place in its log. */
export const eventName = ({ owner, commit, index }: { owner: string; commit: number; index: number }): string =>
	`event ${commit}-${index} of ${owner}`;
