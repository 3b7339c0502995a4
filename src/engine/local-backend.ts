import type { Backend } from "../contract/backend.ts";
import { errorBody, FlowFabricError, refusalError } from "../contract/errors.ts";
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
} from "../contract/executions.ts";
import type { ClaimedExecution, CreatedItem, Execution, WorkerNotice } from "../contract/replies.ts";
import * as protocol from "../contract/worker-protocol.ts";
import type { CommandOf, Op, OutcomeOf } from "../kernel/kernel.ts";
import { type Payload, resultBlobKey } from "../kernel/payload.ts";
import { type AttemptRecord, attemptKey } from "../kernel/records/attempt.ts";
import { type ExecutionRecord, executionKey } from "../kernel/records/execution.ts";
import type { LogPosition, StoredRecord } from "../store/port.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import type { Engine } from "./engine.ts";
import { HolderNotices } from "./holder-notices.ts";
import { listExecutions } from "./listing.ts";
import { asValue, contentOf, inlineValue, pack, unpack } from "./payloads.ts";
import { checkDelayUntil, createCommand } from "./submission.ts";
import { attemptView, claimedView, executionView } from "./views.ts";

export interface LocalBackendOptions {
	engine: Engine;
	/** Who acts, in events and as `createdBy`. */
	actor: string;
	/** How long ended executions are kept unless their policy says otherwise. */
	retentionMs: number;
}

type Accepted<O extends Op> = Extract<OutcomeOf<O>, { ok: true }>;

/** The whole interface on an engine in this process: checks requests, turns them into commands, shows what came of it. */
export class LocalBackend implements Backend {
	readonly engine: Engine;
	readonly #options: LocalBackendOptions;
	readonly #notices = new HolderNotices();

	constructor(options: LocalBackendOptions) {
		this.#options = options;
		this.engine = options.engine;
		this.engine.onCommitted = (unit) => this.#notices.tell(unit);
	}

	async create(request: CreateRequest) {
		const { id, publicState, created } = await this.#run("create", this.#createCommand(request));
		return { id, publicState, created };
	}

	async createMany(items: CreateRequest[]): Promise<CreatedItem[]> {
		createManyRequest.check({ items });
		const answers: CreatedItem[] = [];
		let open = items.length;
		if (open === 0) return answers;
		return new Promise((resolve) => {
			const settle = (n: number, answer: CreatedItem) => {
				answers[n] = answer;
				if (--open === 0) resolve(answers);
			};
			items.forEach((item, n) => {
				const fail = (error: unknown) => settle(n, { ok: false, error: errorBody(error) });
				try {
					const command = this.#createCommand(item);
					this.#runnerFor(command).enqueue(
						command,
						(outcome) => settle(n, createdItem(outcome as OutcomeOf<"create">)),
						fail,
					);
				} catch (error) {
					fail(error);
				}
			});
		});
	}

	async get(id: string): Promise<Execution> {
		const { record, now } = await this.#read(id);
		return executionView(record, now);
	}

	async list(request: ListRequest = {}) {
		this.engine.refuseIfClosed();
		return listExecutions(this.engine.runners, listRequest.check(request), (key, doc) => {
			try {
				return this.engine.kernel.decode(key, doc);
			} catch (error) {
				this.engine.fault(`record ${key} cannot be read`, error);
				return undefined;
			}
		});
	}

	async input(id: string) {
		const { record } = await this.#read(id);
		return record.input ? this.#bytes(id, record.input) : undefined;
	}

	async result(id: string) {
		const { record } = await this.#read(id);
		if (record.lifecyclePhase !== "terminal")
			throw new FlowFabricError("result_not_ready", { details: { executionId: id } });
		const result = record.terminalOutcome === "success" ? record.attempt?.result : undefined;
		if (!result)
			throw new FlowFabricError("result_not_found", { details: { executionId: id, outcome: record.terminalOutcome } });
		return this.#bytes(id, result);
	}

	async wait(id: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<Execution> {
		this.engine.refuseIfClosed();
		const partition = this.engine.partitionOf(id);
		const { clock, watchers, store } = this.engine;
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
				const { record, now } = await this.#read(id);
				const left = deadline - clock.monotonic();
				if (record.lifecyclePhase === "terminal" || left <= 0) return executionView(record, now);
				if (this.engine.closed) throw new FlowFabricError("shutting_down");
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
		const runner = this.engine.runner(this.engine.partitionOf(id));
		await this.#read(id);
		const { events } = await runner.ask((store, partition) => store.events(partition, id, after, limit));
		const last = events.at(-1) ?? after ?? { commit: 0, index: 0 };
		return {
			events: events.map((event) => JSON.parse(event.body)),
			nextCursor: encodeCursor("e", [last.commit, last.index]),
		};
	}

	async attempts(id: string) {
		const { record, runner } = await this.#read(id);
		const { attempt } = record;
		if (!attempt) return [];
		const keys = Array.from({ length: attempt.index }, (_, index) => attemptKey(id, index));
		const { records } = await runner.ask((store, partition) => store.read(partition, keys));
		const ended = records
			.filter((stored) => stored.version > 0)
			.map((stored) => this.#decode<AttemptRecord>(stored).attempt);
		return [...ended, attempt].filter((each) => each !== null).map(attemptView);
	}

	async cancel(id: string, request: CancelRequest = {}) {
		const { mode = "graceful", graceMs = 30_000, reason, fence } = cancelRequest.check(request);
		const { ok: _, ...reply } = await this.#run("cancel", {
			op: "cancel",
			executionId: id,
			mode,
			graceMs,
			...(reason === undefined ? undefined : { reason }),
			...(fence === undefined ? undefined : { fence }),
			actor: this.#options.actor,
		});
		return reply;
	}

	async replay(id: string) {
		const { ok: _, ...reply } = await this.#run("replay", {
			op: "replay",
			executionId: id,
			actor: this.#options.actor,
		});
		return reply;
	}

	async delete(id: string) {
		const { ok: _, ...reply } = await this.#run("delete", {
			op: "delete",
			executionId: id,
			actor: this.#options.actor,
		});
		return reply;
	}

	async revokeLease(id: string, request: RevokeLeaseRequest = {}) {
		const given = revokeLeaseRequest.check(request) as { expectedLeaseId?: string; reason?: string };
		const { ok: _, ...reply } = await this.#run("revokeLease", {
			op: "revokeLease",
			executionId: id,
			...given,
			actor: this.#options.actor,
		});
		return reply;
	}

	async claim(request: protocol.ClaimRequest, signal?: AbortSignal): Promise<ClaimedExecution[]> {
		const {
			namespace = "default",
			lanes = ["default"],
			max = 1,
			leaseMs = 30_000,
			waitMs = 0,
			...who
		} = protocol.claimRequest.check(request);
		this.engine.refuseIfClosed();
		const records = await this.engine.dispatcher.claim(
			{ namespace, lanes, kinds: who.kinds, max, leaseMs, waitMs, workerId: who.workerId, instanceId: who.instanceId },
			signal,
		);
		return Promise.all(records.map((record) => this.#claimed(record)));
	}

	async renew(request: protocol.RenewRequest) {
		const { leases, leaseMs } = protocol.renewRequest.check(request);
		return Promise.all(
			leases.map(async ({ executionId, leaseId, epoch }) => {
				try {
					const { ok, expiresAt, cancelRequested, reason } = await this.#run("renew", {
						op: "renew",
						executionId,
						fence: { leaseId, epoch },
						...(leaseMs === undefined ? undefined : { leaseMs }),
					});
					return {
						executionId,
						ok,
						expiresAt,
						...(cancelRequested ? { cancelRequested, ...(reason ? { reason } : undefined) } : undefined),
					};
				} catch (error) {
					return { executionId, ok: false, error: errorBody(error) };
				}
			}),
		);
	}

	async complete(id: string, request: protocol.CompleteRequest) {
		const given = protocol.completeRequest.check(request);
		const content = contentOf({
			field: "result",
			value: given.result,
			base64: given.resultBase64,
			contentType: given.contentType,
		});
		const { payload, blob } = pack(content, resultBlobKey(id, given.fence?.epoch ?? 0));
		const { publicState } = await this.#run("complete", {
			op: "complete",
			executionId: id,
			...(given.fence ? { fence: given.fence } : undefined),
			result: payload,
			...(blob ? { resultBlob: blob } : undefined),
		});
		return { publicState };
	}

	async completeMany(items: (protocol.CompleteRequest & { executionId: string })[]) {
		protocol.completeManyRequest.check({ items });
		return Promise.all(
			items.map(async (item) => {
				try {
					const { executionId, ...request } = protocol.completeItem.check(item);
					return { executionId, ok: true, ...(await this.complete(executionId, request)) };
				} catch (error) {
					return {
						executionId: String((item as { executionId?: unknown } | null)?.executionId),
						ok: false,
						error: errorBody(error),
					};
				}
			}),
		);
	}

	async fail(id: string, request: protocol.FailRequest) {
		const { category = "error", ...given } = protocol.failRequest.check(request) as Required<protocol.FailRequest>;
		const { ok: _, ...reply } = await this.#run("fail", {
			op: "fail",
			executionId: id,
			category,
			...given,
			jitter: this.engine.random(),
		});
		return reply;
	}

	async delay(id: string, request: protocol.DelayRequest) {
		const given = protocol.delayRequest.check(request) as Required<protocol.DelayRequest>;
		if ((given.delayMs === undefined) === (given.delayUntil === undefined)) {
			throw new FlowFabricError("invalid_input", {
				message: "delayMs: exactly one of delayMs and delayUntil is required",
				details: { field: "delayMs" },
			});
		}
		const runner = this.engine.runner(this.engine.partitionOf(id));
		checkDelayUntil(given.delayUntil, runner.time.now());
		const { ok: _, ...reply } = await this.#run("delay", { op: "delay", executionId: id, ...given });
		return reply;
	}

	async release(id: string, request: protocol.ReleaseRequest) {
		const given = protocol.releaseRequest.check(request) as Required<protocol.ReleaseRequest>;
		const { ok: _, ...reply } = await this.#run("release", { op: "release", executionId: id, ...given });
		return reply;
	}

	async progress(id: string, request: protocol.ProgressRequest) {
		const { fence, ...progress } = protocol.progressRequest.check(request) as Required<protocol.ProgressRequest>;
		const outcome = await this.#run("progress", {
			op: "progress",
			executionId: id,
			...(fence ? { fence } : undefined),
			progress,
		});
		return outcome.progress;
	}

	notices(instanceId: string, listener: (notice: WorkerNotice) => void): () => void {
		return this.#notices.listen(instanceId, listener);
	}

	async close(): Promise<void> {
		await this.engine.close();
	}

	#createCommand(request: unknown): CommandOf<"create"> {
		const { actor, retentionMs } = this.#options;
		return createCommand(request, { uuid: this.engine.mint.next(), now: this.engine.now(), actor, retentionMs });
	}

	#runnerFor({ executionId }: { executionId: string }) {
		return this.engine.runner(this.engine.partitionOf(executionId));
	}

	async #run<O extends Exclude<Op, "claim" | "tick">>(_op: O, command: CommandOf<O>): Promise<Accepted<O>> {
		const outcome = await this.#runnerFor(command).run<OutcomeOf<O>>(command);
		if (outcome.ok) return outcome as Accepted<O>;
		throw refusalError(outcome as Extract<OutcomeOf<O>, { ok: false }>);
	}

	/** Readers are answered from the store, never from what an engine happens to remember. */
	async #read(id: string) {
		const runner = this.engine.runner(this.engine.partitionOf(id));
		const { records } = await runner.ask((store, partition) => store.read(partition, [executionKey(id)]));
		const [stored] = records;
		const record = stored && stored.version > 0 ? this.#decode<ExecutionRecord>(stored) : undefined;
		if (!record || record.removing) throw new FlowFabricError("execution_not_found", { details: { executionId: id } });
		return { record, runner, now: runner.time.now() };
	}

	#decode<R extends object>({ key, doc }: StoredRecord): R {
		try {
			return this.engine.kernel.decode(key, doc) as R;
		} catch (error) {
			throw new FlowFabricError("corrupt_record", { details: { key }, cause: error });
		}
	}

	async #bytes(id: string, payload: Payload) {
		if (payload.ref === undefined) return unpack(payload, undefined);
		const runner = this.engine.runner(this.engine.partitionOf(id));
		const { ref } = payload;
		const { blobs } = await runner.ask((store, partition) => store.readBlobs(partition, [ref]));
		return unpack(payload, blobs[0]);
	}

	async #claimed(record: ExecutionRecord): Promise<ClaimedExecution> {
		const { id, input } = record;
		const given = input ? (inlineValue(input) ?? asValue(await this.#bytes(id, input))) : undefined;
		return claimedView(record, given);
	}
}

function createdItem(outcome: OutcomeOf<"create">): CreatedItem {
	if (!outcome.ok) return { ok: false, error: errorBody(refusalError(outcome)) };
	return { ok: true, id: outcome.id, created: outcome.created };
}
