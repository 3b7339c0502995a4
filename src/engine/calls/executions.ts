import type { ExecutionCalls } from "../../contract/backend.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import {
	type CancelRequest,
	type CreateRequest,
	cancelRequest,
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
import { decodeEvent } from "../../kernel/events.ts";
import { type AttemptRecord, attemptKey } from "../../kernel/records/attempt.ts";
import type { LogPosition } from "../../store/port.ts";
import { decodeCursor, encodeCursor } from "../cursor.ts";
import { listExecutions } from "../listing.ts";
import { createCommand } from "../submission.ts";
import { attemptView, executionView } from "../views.ts";
import { createTogether, submissionAt } from "./create-together.ts";
import type { Desk } from "./desk.ts";

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
		this.#desk.engine.refuseIfClosed();
		return listExecutions(this.#desk.engine.runners, listRequest.check(request), (key, doc) => {
			try {
				return this.#desk.engine.kernel.decode(key, doc);
			} catch (error) {
				this.#desk.engine.fault(`record ${key} cannot be read`, error);
				return undefined;
			}
		});
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
		const partition = this.#desk.engine.partitionOf(id);
		const { clock, watchers, store } = this.#desk.engine;
		const { signal, ...request } = options;
		const { timeoutMs = Number.POSITIVE_INFINITY } = waitRequest.check(request);
		const deadline = clock.monotonic() + timeoutMs;
		let changed = () => {};
		let change = new Promise<void>((resolve) => (changed = resolve));
		const unsubscribe = [watchers.add(id, () => changed()), store.watch(partition, id)];
		const abort = () => changed();
		signal?.addEventListener("abort", abort);
		try {
			for (;;) {
				const { record, now } = await this.#desk.read(id);
				const left = deadline - clock.monotonic();
				if (record.lifecyclePhase === "terminal" || left <= 0) return executionView(record, now);
				if (this.#desk.engine.closed) throw new FlowFabricError("shutting_down");
				signal?.throwIfAborted();
				const disarm = clock.setTimer(left, () => changed());
				await change;
				disarm();
				change = new Promise<void>((resolve) => (changed = resolve));
			}
		} finally {
			for (const stop of unsubscribe) stop();
			signal?.removeEventListener("abort", abort);
		}
	}

	async events(id: string, request: EventsRequest = {}) {
		const { limit = 100, cursor } = eventsRequest.check(request);
		const [commit, index] = cursor === undefined ? [] : decodeCursor("e", cursor, ["number", "number"]);
		const after: LogPosition | undefined =
			commit === undefined ? undefined : { commit: Number(commit), index: Number(index) };
		const runner = this.#desk.runnerOf(id);
		await this.#desk.read(id);
		const { events } = await runner.ask((store, partition) => store.events(partition, id, after, limit));
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
