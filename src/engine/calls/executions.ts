import { allAttempts } from "../../contract/all-attempts.ts";
import type { ExecutionCalls, FollowOptions } from "../../contract/backend.ts";
import type { BulkRequest } from "../../contract/bulk.ts";
import { refusalError } from "../../contract/errors.ts";
import {
	type AttemptsRequest,
	type CancelRequest,
	type ChangePriorityRequest,
	type CreateRequest,
	cancelRequest,
	changePriorityRequest,
	createManyRequest,
	type EventsRequest,
	eventsRequest,
	type ListRequest,
	listRequest,
	type ReplayRequest,
	type RevokeLeaseRequest,
	replayRequest,
	revokeLeaseRequest,
	waitRequest,
} from "../../contract/executions.ts";
import type {
	AttemptPage,
	CreatedItem,
	Execution,
	ExecutionEventPage,
	Explanation,
	FollowedEvent,
	StepPage,
} from "../../contract/replies.ts";
import type { StepsRequest } from "../../contract/steps.ts";
import { checkSetTags, type SetTagsRequest, setTagsRequest } from "../../contract/tags.ts";
import type { ExecutionEvent } from "../../kernel/events.ts";
import { trustedSlot } from "../../kernel/ids.ts";
import type { CommandOf } from "../../kernel/kernel.ts";
import { DEFAULT_GRACE_MS } from "../../kernel/policy.ts";
import { resultOf } from "../../kernel/reading.ts";
import { hasEnded } from "../../kernel/state.ts";
import { explain } from "../reading/explaining.ts";
import { findExecutions } from "../reading/listing.ts";
import { showAll, showWhole } from "../reading/showing.ts";
import { createCommand } from "../submission.ts";
import { listAttempts } from "./attempts.ts";
import { bulk } from "./bulk.ts";
import { createOne, createTogether, submissionAt } from "./create-together.ts";
import { eventsAfter, followExecution, historyOf, placeInHistory } from "./following.ts";
import type { Session } from "./session.ts";
import { listSteps } from "./steps.ts";
import { watch } from "./watching.ts";

/** Checks requests about executions, turns them into commands, and shows what came of it. */
export class LocalExecutions implements ExecutionCalls {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	async create(request: CreateRequest) {
		const command = createCommand(request, submissionAt(this.#session));
		const { engine } = this.#session;
		const finding = engine.guards.directory.check(command);
		if (finding) await finding;
		engine.nameLimits.check(trustedSlot(command.executionId) % engine.runners.length, command);
		return createOne(this.#session, command);
	}

	async createMany(items: CreateRequest[]): Promise<CreatedItem[]> {
		createManyRequest.check({ items });
		return createTogether(this.#session, items);
	}

	async get(id: string): Promise<Execution> {
		return showWhole(this.#session, await this.#session.read(id));
	}

	async explain(id: string): Promise<Explanation> {
		return explain(this.#session, id);
	}

	async list(request: ListRequest = {}) {
		const { limit = 100, cursor, ...filter } = listRequest.check(request);
		const { found, ...rest } = await findExecutions(this.#session, filter, limit, cursor);
		return { executions: await showAll(this.#session, found), ...rest };
	}

	async input(id: string) {
		const { record } = await this.#session.read(id);
		return record.input ? this.#session.bytes(id, record.input) : undefined;
	}

	async result(id: string) {
		const { record } = await this.#session.read(id);
		const outcome = resultOf(record);
		if (!outcome.ok) throw refusalError(outcome);
		return this.#session.bytes(id, outcome.result);
	}

	async wait(id: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<Execution> {
		this.#session.engine.refuseIfClosed();
		const { signal, ...request } = options;
		const { timeoutMs = Number.POSITIVE_INFINITY } = waitRequest.check(request);
		return watch(this.#session, this.#session.watched(id), { timeoutMs, signal }, async (isLast) => {
			const found = await this.#session.read(id);
			return isLast || hasEnded(found.record) ? showWhole(this.#session, found) : undefined;
		});
	}

	async events(id: string, request: EventsRequest = {}, signal?: AbortSignal): Promise<ExecutionEventPage> {
		const { limit = 100, cursor, waitMs = 0 } = eventsRequest.check(request);
		const { cursors } = this.#session.engine;
		const after = await placeInHistory(this.#session, id, cursor);
		const events = await watch(
			this.#session,
			this.#session.watched(id),
			{ timeoutMs: waitMs, signal },
			async (isLast) => {
				const { events: page } = await eventsAfter(this.#session, id, after, limit);
				return isLast || page.length > 0 ? page : undefined;
			},
		);
		return {
			events: this.#session.decodeReadableEvents(events) as ExecutionEvent[],
			nextCursor: await cursors.atEvent(historyOf(id), events.at(-1) ?? after),
		};
	}

	follow(id: string, options: FollowOptions = {}): AsyncIterable<FollowedEvent> {
		return followExecution(this.#session, id, options);
	}

	attempts(id: string) {
		return allAttempts(this, id);
	}

	attemptPage(id: string, request?: AttemptsRequest): Promise<AttemptPage> {
		return listAttempts(this.#session, id, request);
	}

	async cancel(id: string, request: CancelRequest = {}) {
		const { mode = "graceful", graceMs = DEFAULT_GRACE_MS, reason, fence } = cancelRequest.check(request);
		const { ok: _, ...reply } = await this.#session.run("cancel", {
			op: "cancel",
			executionId: id,
			mode,
			graceMs,
			...(reason === undefined ? undefined : { reason }),
			...(fence === undefined ? undefined : { fence }),
			actor: this.#session.caller.actor,
		});
		return reply;
	}

	steps(id: string, request?: StepsRequest): Promise<StepPage> {
		return listSteps(this.#session, id, request);
	}

	async replay(id: string, request: ReplayRequest = {}) {
		const { keepSteps = false } = replayRequest.check(request);
		const { actor } = this.#session.caller;
		for (;;) {
			const command: CommandOf<"replay"> = { op: "replay", executionId: id, keepSteps, actor };
			const { ok: _, unfinished, ...reply } = await this.#session.run("replay", command);
			// What followed from its end goes on first, a step at a time.
			if (!unfinished) return reply;
		}
	}

	async delete(id: string) {
		const { ok: _, ...reply } = await this.#session.run("delete", {
			op: "delete",
			executionId: id,
			actor: this.#session.caller.actor,
		});
		return reply;
	}

	async changePriority(id: string, request: ChangePriorityRequest) {
		const { priority } = changePriorityRequest.check(request);
		const { ok: _, ...reply } = await this.#session.run("changePriority", {
			op: "changePriority",
			executionId: id,
			priority,
			actor: this.#session.caller.actor,
		});
		return reply;
	}

	async setTags(id: string, request: SetTagsRequest) {
		const given = setTagsRequest.check(request);
		checkSetTags(given);
		const { tags } = await this.#session.run("setTags", {
			op: "setTags",
			executionId: id,
			set: { ...given.set },
			remove: [...(given.remove ?? [])],
			actor: this.#session.caller.actor,
		});
		return { tags: { ...tags } };
	}

	bulk(request: BulkRequest) {
		return bulk(this.#session, request, (reason) => ({
			cancel: (id) => this.cancel(id, reason === undefined ? {} : { reason }),
			replay: (id) => this.replay(id),
			delete: (id) => this.delete(id),
		}));
	}

	async revokeLease(id: string, request: RevokeLeaseRequest = {}) {
		const given = revokeLeaseRequest.check(request) as { expectedLeaseId?: string; reason?: string };
		const { ok: _, ...reply } = await this.#session.run("revokeLease", {
			op: "revokeLease",
			executionId: id,
			...given,
			actor: this.#session.caller.actor,
		});
		return reply;
	}
}
