import { allAttempts } from "../contract/all-attempts.ts";
import type { ExecutionCalls, FollowOptions } from "../contract/backend.ts";
import type { BulkRequest } from "../contract/bulk.ts";
import type { FlowFabricError } from "../contract/errors.ts";
import {
	type AttemptsRequest,
	attemptsRequest,
	type CancelRequest,
	type ChangePriorityRequest,
	type CreateRequest,
	type EventsRequest,
	eventsRequest,
	type ListRequest,
	listRequest,
	MAX_BATCH_ITEMS,
	MAX_POLL_MS,
	type ReplayRequest,
	type RevokeLeaseRequest,
	waitRequest,
} from "../contract/executions.ts";
import { slotOfGivenId } from "../contract/ids.ts";
import type {
	AttemptPage,
	AttemptView,
	BulkReply,
	Bytes,
	Created,
	CreatedItem,
	Execution,
	ExecutionEventPage,
	ExecutionPage,
	Explanation,
	FollowedEvent,
	StepPage,
} from "../contract/replies.ts";
import { type StepsRequest, stepsRequest } from "../contract/steps.ts";
import type { SetTagsRequest } from "../contract/tags.ts";
import { bodyWith, jointBodies, plainBody, queryOf } from "./bodies.ts";
import { CreateJoiner } from "./create-joiner.ts";
import { followEvents } from "./follow.ts";
import type { Call, Transport } from "./transport.ts";

type Reply<N extends keyof ExecutionCalls> = Awaited<
	ReturnType<Extract<ExecutionCalls[N], (...args: never) => Promise<unknown>>>
>;

/** The calls about executions, over HTTP. Queries are checked here: on the wire all their fields are text. */
export class RemoteExecutions implements ExecutionCalls {
	readonly #transport: Transport;
	readonly #creates: CreateJoiner;

	constructor(transport: Transport) {
		this.#transport = transport;
		this.#creates = new CreateJoiner(transport);
	}

	async create(request: CreateRequest): Promise<Created> {
		return this.#creates.create(request);
	}

	async createMany(items: CreateRequest[]): Promise<CreatedItem[]> {
		if (!Array.isArray(items) || items.length > MAX_BATCH_ITEMS) return this.#sendMany(plainBody({ items }), items);
		// An item that cannot be sent fails alone, like one that the server refuses.
		const texts = items.map((item) => {
			try {
				return bodyWith("input", item);
			} catch (error) {
				return error as FlowFabricError;
			}
		});
		const sent = texts.filter((text) => typeof text === "string");
		const answers: CreatedItem[] = [];
		for (const body of jointBodies(sent)) {
			for (const answer of await this.#sendMany(body, items)) answers.push(answer);
		}
		return texts.map((text) => (typeof text === "string" ? (answers.shift() as CreatedItem) : refusedItem(text)));
	}

	async #sendMany(body: string, items: CreateRequest[]): Promise<CreatedItem[]> {
		const safe = Array.isArray(items) && items.every((item) => item?.idempotencyKey);
		const answer = await this.#transport.json<{ items: CreatedItem[] }>({
			method: "POST",
			path: "/v1/executions/batch",
			body,
			repeat: safe ? "always" : "undone",
		});
		return answer.items;
	}

	get(id: string): Promise<Execution> {
		return this.#read(id, "");
	}

	explain(id: string): Promise<Explanation> {
		return this.#read(id, "/explain");
	}

	async list(request: ListRequest = {}): Promise<ExecutionPage> {
		const query = queryOf(listRequest.check(request));
		return this.#transport.json({ method: "GET", path: `/v1/executions${query}`, repeat: "always" });
	}

	async input(id: string): Promise<Bytes | undefined> {
		const { status, body, headers } = await this.#transport.send(reading(id, "/input"));
		return status === 204 ? undefined : { bytes: body, contentType: String(headers["content-type"]) };
	}

	async result(id: string): Promise<Bytes> {
		const { body, headers } = await this.#transport.send(reading(id, "/result"));
		return { bytes: body, contentType: String(headers["content-type"]) };
	}

	async wait(id: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<Execution> {
		const { signal, ...request } = options;
		const { timeoutMs = Number.POSITIVE_INFINITY } = waitRequest.check(request);
		const { clock } = this.#transport;
		const deadline = clock.monotonic() + timeoutMs;
		for (;;) {
			const waitMs = Math.ceil(Math.min(MAX_POLL_MS, Math.max(0, deadline - clock.monotonic())));
			const call = { ...reading(id, `/wait?timeoutMs=${waitMs}`), waitMs, signal };
			const execution = await this.#transport.json<Execution>(call);
			if (execution.state.lifecyclePhase === "terminal" || clock.monotonic() >= deadline) return execution;
		}
	}

	async events(id: string, request: EventsRequest = {}, signal?: AbortSignal): Promise<ExecutionEventPage> {
		const query = eventsRequest.check(request);
		const { waitMs = 0 } = query;
		const path = `/events${queryOf(query as Record<string, string | number>)}`;
		return this.#transport.json({ ...reading(id, path), waitMs, signal });
	}

	follow(id: string, options: FollowOptions = {}): AsyncIterable<FollowedEvent> {
		return followEvents(this.#transport, pathOf(id, "/events"), options);
	}

	async attempts(id: string): Promise<AttemptView[]> {
		return allAttempts(this, id);
	}

	async attemptPage(id: string, request: AttemptsRequest = {}): Promise<AttemptPage> {
		return this.#read(id, `/attempts${queryOf(attemptsRequest.check(request))}`);
	}

	async steps(id: string, request: StepsRequest = {}): Promise<StepPage> {
		return this.#read(id, `/steps${queryOf(stepsRequest.check(request))}`);
	}

	async cancel(id: string, request: CancelRequest = {}): Promise<Reply<"cancel">> {
		return this.#transport.json(acting(id, "/cancel", request, "always"));
	}

	/** Sent again only if it was not done: a second replay may find the work ended once more. */
	async replay(id: string, request: ReplayRequest = {}): Promise<Reply<"replay">> {
		return this.#transport.json(acting(id, "/replay", request, "undone"));
	}

	async delete(id: string): Promise<Reply<"delete">> {
		return this.#transport.json({ method: "DELETE", path: pathOf(id, ""), repeat: "undone" });
	}

	async changePriority(id: string, request: ChangePriorityRequest): Promise<Reply<"changePriority">> {
		return this.#transport.json(acting(id, "/priority", request, "always"));
	}

	async setTags(id: string, request: SetTagsRequest): Promise<Reply<"setTags">> {
		return this.#transport.json(acting(id, "/tags", request, "always"));
	}

	async bulk(request: BulkRequest): Promise<BulkReply> {
		const path = "/v1/executions/bulk";
		return this.#transport.json({ method: "POST", path, body: plainBody(request), repeat: "always" });
	}

	/** Without the lease it is about, a second one might take the next holder's. */
	async revokeLease(id: string, request: RevokeLeaseRequest = {}): Promise<Reply<"revokeLease">> {
		return this.#transport.json(acting(id, "/revoke-lease", request, "undone"));
	}

	async #read<T>(id: string, path: string): Promise<T> {
		// In a path these would be text, or name another route.
		if (typeof id !== "string" || id === "") slotOfGivenId("ex", id, "id");
		return this.#transport.json<T>(reading(id, path));
	}
}

export const pathOf = (id: string, rest: string): string => `/v1/executions/${encodeURIComponent(id)}${rest}`;

const reading = (id: string, rest: string): Call => ({ method: "GET", path: pathOf(id, rest), repeat: "always" });

const acting = (id: string, rest: string, request: unknown, repeat: Call["repeat"]): Call => ({
	method: "POST",
	path: pathOf(id, rest),
	body: plainBody(request),
	repeat,
});

function refusedItem({ code, message, retryable, details }: FlowFabricError): CreatedItem {
	return { ok: false, error: { code, message, retryable, details } };
}
