import type { ExecutionCalls } from "../../contract/backend.ts";
import type { BulkRequest } from "../../contract/bulk.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import {
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
	type RevokeLeaseRequest,
	revokeLeaseRequest,
	waitRequest,
} from "../../contract/executions.ts";
import type { CreatedItem, Execution } from "../../contract/replies.ts";
import { checkSetTags, type SetTagsRequest, setTagsRequest } from "../../contract/tags.ts";
import { decodeEvent } from "../../kernel/events.ts";
import { type AttemptRecord, attemptKey } from "../../kernel/records/attempt.ts";
import type { LogPosition } from "../../store/port.ts";
import { decodeCursor, encodeCursor } from "../cursor.ts";
import { findExecutions } from "../listing.ts";
import { createCommand } from "../submission.ts";
import { attemptView, executionView } from "../views.ts";
import { bulk } from "./bulk.ts";
import { createTogether, submissionAt } from "./create-together.ts";
import type { Desk } from "./desk.ts";
import { watch } from "./watching.ts";

/** Checks requests about executions, turns them into commands, and shows what came of it. */
export class LocalExecutions implements ExecutionCalls {
	readonly #desk: Desk;

	constructor(desk: Desk) {
		this.#desk = desk;
	}

	async create(request: CreateRequest) {
		const { id, publicState, created } = await this.#desk.run(
			"create",
			createCommand(request, submissionAt(this.#desk)),
		);
		return { id, publicState, created };
	}

	async createMany(items: CreateRequest[]): Promise<CreatedItem[]> {
		createManyRequest.check({ items });
		return createTogether(this.#desk, items);
	}

	async get(id: string): Promise<Execution> {
		const { record, now } = await this.#desk.read(id);
		return executionView(record, now);
	}

	async list(request: ListRequest = {}) {
		const { limit = 100, cursor, ...filter } = listRequest.check(request);
		const { found, ...rest } = await findExecutions(this.#desk, filter, limit, cursor);
		return { executions: found.map(({ record, runner }) => executionView(record, runner.time.now())), ...rest };
	}

	async input(id: string) {
		const { record } = await this.#desk.read(id);
		return record.input ? this.#desk.bytes(id, record.input) : undefined;
	}

	async result(id: string) {
		const { record } = await this.#desk.read(id);
		if (record.lifecyclePhase !== "terminal")
			throw new FlowFabricError("result_not_ready", { details: { executionId: id } });
		const result = record.terminalOutcome === "success" ? record.attempt?.result : undefined;
		if (!result)
			throw new FlowFabricError("result_not_found", { details: { executionId: id, outcome: record.terminalOutcome } });
		return this.#desk.bytes(id, result);
	}

	async wait(id: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<Execution> {
		this.#desk.engine.refuseIfClosed();
		const { signal, ...request } = options;
		const { timeoutMs = Number.POSITIVE_INFINITY } = waitRequest.check(request);
		return watch(this.#desk, id, { timeoutMs, signal }, async (isLast) => {
			const { record, now } = await this.#desk.read(id);
			return isLast || record.lifecyclePhase === "terminal" ? executionView(record, now) : undefined;
		});
	}

	async events(id: string, request: EventsRequest = {}, signal?: AbortSignal) {
		const { limit = 100, cursor, waitMs = 0 } = eventsRequest.check(request);
		const [commit, index] = cursor === undefined ? [] : decodeCursor("e", cursor, ["position", "position"]);
		const after: LogPosition | undefined =
			commit === undefined ? undefined : { commit: Number(commit), index: Number(index) };
		const events = await watch(this.#desk, id, { timeoutMs: waitMs, signal }, async (isLast) => {
			const { runner } = await this.#desk.read(id);
			const page = await runner.ask((store, partition) => store.events(partition, id, after, limit));
			return isLast || page.events.length > 0 ? page.events : undefined;
		});
		const last = events.at(-1) ?? after ?? { commit: 0, index: 0 };
		return {
			events: events.map(({ owner, at, body }) => decodeEvent(owner, at, body)),
			nextCursor: encodeCursor("e", [last.commit, last.index]),
		};
	}

	async attempts(id: string) {
		const { record, runner } = await this.#desk.read(id);
		const { attempt } = record;
		if (!attempt) return [];
		const keys = Array.from({ length: attempt.index }, (_, index) => attemptKey(id, index));
		const { records } = await runner.ask((store, partition) => store.read(partition, keys));
		const ended = records
			.filter((stored) => stored.version > 0)
			.map((stored) => this.#desk.decode<AttemptRecord>(stored).attempt);
		return [...ended, attempt].filter((each) => each !== null).map(attemptView);
	}

	async cancel(id: string, request: CancelRequest = {}) {
		const { mode = "graceful", graceMs = 30_000, reason, fence } = cancelRequest.check(request);
		const { ok: _, ...reply } = await this.#desk.run("cancel", {
			op: "cancel",
			executionId: id,
			mode,
			graceMs,
			...(reason === undefined ? undefined : { reason }),
			...(fence === undefined ? undefined : { fence }),
			actor: this.#desk.caller.actor,
		});
		return reply;
	}

	async replay(id: string) {
		const { ok: _, ...reply } = await this.#desk.run("replay", {
			op: "replay",
			executionId: id,
			actor: this.#desk.caller.actor,
		});
		return reply;
	}

	async delete(id: string) {
		const { ok: _, ...reply } = await this.#desk.run("delete", {
			op: "delete",
			executionId: id,
			actor: this.#desk.caller.actor,
		});
		return reply;
	}

	async changePriority(id: string, request: ChangePriorityRequest) {
		const { priority } = changePriorityRequest.check(request);
		const { ok: _, ...reply } = await this.#desk.run("changePriority", {
			op: "changePriority",
			executionId: id,
			priority,
			actor: this.#desk.caller.actor,
		});
		return reply;
	}

	async setTags(id: string, request: SetTagsRequest) {
		const given = setTagsRequest.check(request);
		checkSetTags(given);
		const { tags } = await this.#desk.run("setTags", {
			op: "setTags",
			executionId: id,
			set: { ...given.set },
			remove: [...(given.remove ?? [])],
			actor: this.#desk.caller.actor,
		});
		return { tags: { ...tags } };
	}

	bulk(request: BulkRequest) {
		return bulk(this.#desk, request, (reason) => ({
			cancel: (id) => this.cancel(id, reason === undefined ? {} : { reason }),
			replay: (id) => this.replay(id),
			delete: (id) => this.delete(id),
		}));
	}

	async revokeLease(id: string, request: RevokeLeaseRequest = {}) {
		const given = revokeLeaseRequest.check(request) as { expectedLeaseId?: string; reason?: string };
		const { ok: _, ...reply } = await this.#desk.run("revokeLease", {
			op: "revokeLease",
			executionId: id,
			...given,
			actor: this.#desk.caller.actor,
		});
		return reply;
	}
}
