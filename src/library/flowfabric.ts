import { HttpBackend } from "../client/http-backend.ts";
import type { ConnectOptions } from "../client/options.ts";
import type {
	Backend,
	BudgetCalls,
	FlowCalls,
	FollowOptions,
	QuotaCalls,
	StreamCalls,
	WaitpointCalls,
} from "../contract/backend.ts";
import type { BulkRequest } from "../contract/bulk.ts";
import type {
	CancelRequest,
	ChangePriorityRequest,
	CreateRequest,
	EventsRequest,
	ListRequest,
	ReplayRequest,
	RevokeLeaseRequest,
} from "../contract/executions.ts";
import type { FeedRequest } from "../contract/feed.ts";
import type { BackupRequest, RotateSecretRequest } from "../contract/keys.ts";
import type { LanesPageRequest } from "../contract/lanes.ts";
import type { ErrorBody } from "../contract/replies.ts";
import type { StepsRequest } from "../contract/steps.ts";
import type { SetTagsRequest } from "../contract/tags.ts";
import type { ApproveRequest, InboxRequest, ResumeRequest, SignalRequest } from "../contract/waitpoints.ts";
import type { WorkersPageRequest } from "../contract/workers.ts";
import type { Handler } from "../worker/context.ts";
import { Worker } from "../worker/worker.ts";
import type { WorkerOptions } from "../worker/worker-options.ts";
import { FlowDraft, type FlowOptions, type FlowRequest, FlowRun } from "./flow.ts";
import type { AnyKinds, InputOf, Kinds, ResultOf, SubmitArguments, SubmitItem } from "./kinds.ts";
import { writeLines } from "./lines.ts";
import type { OpenOptions } from "./open.ts";
import { Run, resultOf, type WaitOptions } from "./run.ts";
import { continueTrace, copyOf, inputFields } from "./submission.ts";
import { type TailedFrame, type TailOptions, tailOf } from "./tail.ts";

/** A worker whose handlers are typed by the program's kinds. */
export interface TypedWorker<K extends Kinds<K>> extends Omit<Worker, "handle"> {
	/** Registers the handler of a kind, before `start()`; only kinds with a handler are claimed. */
	handle<N extends keyof K & string, I extends InputOf<K[N]> = InputOf<K[N]>>(
		kind: N,
		handler: Handler<I, ResultOf<K[N]>>,
	): TypedWorker<K>;
}

/** What became of one of many that were submitted together: its run, or why it was refused. */
export type Submitted<R = unknown> =
	| {
			/** It was accepted. */
			ok: true;
			/** To wait for it and ask about it. */
			run: Run<R>;
	  }
	| {
			/** It was refused. */
			ok: false;
			/** Why. */
			error: ErrorBody;
	  };

/** FlowFabric in this process, or behind a server: a program written against one runs against the other. */
export class FlowFabric<K extends Kinds<K> = AnyKinds> {
	/** Every call of the API, for what has no method of its own here. */
	readonly backend: Backend;
	readonly #workers = new Set<Worker>();

	constructor(backend: Backend) {
		this.backend = backend;
	}

	/** An engine in this process on the store at `url`: `sqlite:<file>`, `valkey://<host>` or `memory:`. */
	static async open<K extends Kinds<K> = AnyKinds>(url: string, options: OpenOptions = {}): Promise<FlowFabric<K>> {
		// A program that connects to a server needs no engine.
		const { openBackend } = await import("./open.ts");
		return new FlowFabric<K>(await openBackend(url, options));
	}

	/**
	 * The server at `url`, such as `http://127.0.0.1:9090`, or several servers of one store: when one is down, the next is
	 * asked. Nothing is sent until the first call.
	 */
	static connect<K extends Kinds<K> = AnyKinds>(
		url: string | readonly string[],
		options: ConnectOptions = {},
	): FlowFabric<K> {
		return new FlowFabric<K>(new HttpBackend(url, options));
	}

	/** Submits one execution; resolves when it is stored. A kind whose input is required cannot be submitted without. */
	async submit<N extends keyof K & string>(
		kind: N,
		...[input, options = {}]: SubmitArguments<K[N]>
	): Promise<Run<ResultOf<K[N]>>> {
		const request = Object.assign(copyOf(options), { kind });
		if (input !== undefined) Object.assign(request, inputFields(input));
		continueTrace(request);
		return new Run(this.backend, await this.backend.executions.create(request));
	}

	/** Submits up to 1000 at once, of any kinds; each item gets its own run or its own error. */
	async submitMany<const N extends readonly (keyof K & string)[]>(
		items: {
			[I in keyof N]: { kind: N[I] } & SubmitItem<K, N[I]>;
		},
	): Promise<{ -readonly [I in keyof N]: Submitted<ResultOf<K[N[I]]>> }> {
		if (!Array.isArray(items)) return this.backend.executions.createMany(items as never) as never;
		const requests = (items as readonly { input?: unknown; traceparent?: string }[]).map((item) => {
			// What is no item is refused where the others are judged.
			if (typeof item !== "object" || item === null) return item;
			const { input } = item;
			const request = copyOf(item);
			if (input instanceof Uint8Array) Object.assign(request, { input: undefined }, inputFields(input));
			continueTrace(request);
			return request;
		});
		const created = await this.backend.executions.createMany(requests as CreateRequest[]);
		return created.map(({ ok, id, created, error }) =>
			ok && id !== undefined
				? { ok: true, run: new Run(this.backend, { id, created: created === true }) }
				: { ok: false, error: error ?? { code: "internal", message: "no answer for this item", retryable: false } },
		) as { -readonly [I in keyof N]: Submitted<ResultOf<K[N[I]]>> };
	}

	/** Begins a flow: work that waits for other work. Nothing is sent before `start()`. */
	flow(kind = "", options: FlowOptions = {}): FlowDraft<K> {
		return new FlowDraft<K>(this.backend, kind === "" ? options : { ...options, kind });
	}

	/** Submits a flow that is written as plain JSON. */
	async submitFlow(request: FlowRequest): Promise<FlowRun> {
		return new FlowRun(this.backend, await this.backend.flows.create(request));
	}

	/** The handle of an execution submitted earlier. */
	run<R = unknown>(id: string): Run<R> {
		return new Run(this.backend, { id, created: false });
	}

	/** The execution as it is now. */
	get(id: string) {
		return this.backend.executions.get(id);
	}

	/** Why it does not run, worked out now. */
	explain(id: string) {
		return this.backend.executions.explain(id);
	}

	/** Executions that match, newest first, a page at a time. */
	list(request: ListRequest = {}) {
		return this.backend.executions.list(request);
	}

	/** The execution once it has ended, or as it is when the time is over. */
	wait(id: string, options: WaitOptions = {}) {
		return this.backend.executions.wait(id, options);
	}

	/** What its handler returned; throws `ExecutionFailed` if it ended otherwise, `wait_timeout` if it has not. */
	result<R = unknown>(id: string, options: WaitOptions = {}): Promise<R> {
		return resultOf<R>(this.backend, id, options);
	}

	/** What happened to it since a cursor; with `waitMs`, as soon as something has. */
	events(id: string, request: EventsRequest = {}, signal?: AbortSignal) {
		return this.backend.executions.events(id, request, signal);
	}

	/** Every event as it comes, and with `onProgress` how far it is; ends with the execution, or with the signal. */
	follow(id: string, options: FollowOptions = {}) {
		return this.backend.executions.follow(id, options);
	}

	/** Every attempt with its worker, its times and how it ended. */
	attempts(id: string) {
		return this.backend.executions.attempts(id);
	}

	/** Cancels it: at once if it is not running, else its worker is asked to stop. */
	cancel(id: string, request: CancelRequest = {}) {
		return this.backend.executions.cancel(id, request);
	}

	/** What its handler has done so far, step by step. */
	steps(id: string, request: StepsRequest = {}) {
		return this.backend.executions.steps(id, request);
	}

	/** Runs ended work again: from the start, or with `keepSteps` from where it stopped. */
	replay(id: string, request: ReplayRequest = {}) {
		return this.backend.executions.replay(id, request);
	}

	/** Removes every trace of an execution that has ended. */
	delete(id: string) {
		return this.backend.executions.delete(id);
	}

	/** Takes its lease away from whoever runs it; the work returns to its queue. */
	revokeLease(id: string, request: RevokeLeaseRequest = {}) {
		return this.backend.executions.revokeLease(id, request);
	}

	/** Lets it run earlier or later among what waits. */
	changePriority(id: string, request: ChangePriorityRequest) {
		return this.backend.executions.changePriority(id, request);
	}

	/** Sets and removes tags. */
	setTags(id: string, request: SetTagsRequest) {
		return this.backend.executions.setTags(id, request);
	}

	/** One action on everything a filter finds, at most 1000 per call. */
	bulk(request: BulkRequest) {
		return this.backend.executions.bulk(request);
	}

	/** The worker instances there are now, a page at a time. */
	workers(request: WorkersPageRequest = {}) {
		return this.backend.workers.list(request);
	}

	/** The lanes of a namespace and what is in them, a page at a time. */
	lanes(request: LanesPageRequest = {}) {
		return this.backend.lanes.list(request);
	}

	/** What its handler tells while it runs, as it comes; see `tail` of `Run`. */
	tail(id: string, options: TailOptions = {}): AsyncGenerator<TailedFrame> {
		return tailOf(this.backend, id, options);
	}

	/** The streams of single attempts: ranges, tails and summaries. */
	get streams(): StreamCalls {
		return this.backend.streams;
	}

	/** Flows as plain JSON, and everything that can be asked about them. */
	get flows(): FlowCalls {
		return this.backend.flows;
	}

	/** What may be spent, who spent it, and what waits for more. */
	get budgets(): BudgetCalls {
		return this.backend.budgets;
	}

	/** How much may start within a time, and how much may run at once. */
	get quotas(): QuotaCalls {
		return this.backend.quotas;
	}

	/** Waitpoints of executions, their tokens, and the signals that came to them. */
	get waitpoints(): WaitpointCalls {
		return this.backend.waitpoints;
	}

	/** Sends a signal to a waitpoint with its token; sent again under its key it counts once. */
	signal(id: string, request: SignalRequest) {
		return this.backend.waitpoints.signal(id, request);
	}

	/** Answers suspended work by name, as an operator, without the token. */
	approve(id: string, request: ApproveRequest) {
		return this.backend.waitpoints.approve(id, request);
	}

	/** What waits for somebody, longest first, a page at a time. */
	approvals(request: InboxRequest = {}) {
		return this.backend.waitpoints.inbox(request);
	}

	/** Lets suspended work go on, whatever it waits for. */
	resume(id: string, request: ResumeRequest = {}) {
		return this.backend.waitpoints.resume(id, request);
	}

	/** What happened in a namespace since a cursor; waits for something to happen if asked to. */
	feed(request: FeedRequest = {}, signal?: AbortSignal) {
		return this.backend.feed.read(request, signal);
	}

	/** What the engine does on its own. */
	scanners() {
		return this.backend.admin.scanners();
	}

	/**
	 * Writes everything to a new file while work goes on; `importFile` takes it in. Secrets that sign tokens of waitpoints stay
	 * behind unless `keys` is true.
	 */
	backup(path: string, request: BackupRequest = {}): Promise<void> {
		return writeLines(this.backend.admin.backup(request), path, request.keys);
	}

	/** Lets another key sign the tokens of waitpoints; those the former signed are taken for its grace. */
	rotateWaitpointSecret(request: RotateSecretRequest = {}) {
		return this.backend.admin.rotateWaitpointSecret(request);
	}

	/** A worker on this connection; it stops when this is closed. */
	worker(options: WorkerOptions = {}): TypedWorker<K> {
		const worker = new Worker(this.backend, options);
		this.#workers.add(worker);
		return worker as unknown as TypedWorker<K>;
	}

	/** Stops the workers made here, then lets go of the store. */
	async close(): Promise<void> {
		await Promise.all([...this.#workers].map((worker) => worker.stop()));
		await this.backend.close();
	}
}
