import { randomUUID } from "node:crypto";
import { fromBytes } from "../contract/content-types.ts";
import type { ClaimedExecution, Execution, OpenedWaitpoint, ParentView, UsageReply } from "../contract/replies.ts";
import type { StepOptions } from "../contract/steps.ts";
import { type Child, type ChildOptions, type ChildOutcome, Children, type WaitForChildrenOptions } from "./children.ts";
import { HandlerSuspended } from "./errors.ts";
import type { StreamWriter } from "./frame-writer.ts";
import { type HandlerRun, insist } from "./handler-run.ts";
import type { HandlerLog } from "./logger.ts";
import type { ReceivedSignal } from "./received-signal.ts";
import { type StepFunction, Steps } from "./steps.ts";
import {
	type Approval,
	callSite,
	type WaitForApprovalOptions,
	type WaitForOptions,
	type WaitForSignalOptions,
	Waits,
} from "./waits.ts";

/** What a handler is given besides its input. */
export interface Context<I = unknown> {
	/** What is run. */
	readonly execution: {
		/** Id of the execution. */
		id: string;
		/** Which handler runs it. */
		kind: string;
		/** The tenant it belongs to. */
		namespace: string;
		/** The queue it waited in. */
		lane: string;
		/** As they were when it was claimed. */
		tags: Record<string, string>;
		/** The flow it is a member of. */
		flowId?: string;
		/** W3C trace context it was submitted in. */
		traceparent?: string;
	};
	/** Which run this is. */
	readonly attempt: {
		/** 0 is the first. */
		index: number;
		/** Why it was made: `initial`, `retry`, `reclaim` or `replay`. */
		type: string;
	};
	/** What it was submitted with: JSON and text as values, everything else as `Uint8Array`. */
	readonly input: I;
	/** Media type of the input. */
	readonly contentType: string;
	/** Of a member of a flow: how upstreams ended and what they gave, under the names of `passResultAs`. */
	readonly parents: Readonly<Record<string, Parent>>;
	/** Aborts, with a `HandlerAborted` as its reason, the moment this run is no longer wanted or no longer ours. */
	readonly signal: AbortSignal;
	/** Takes lines, or fields and a line as pino does: `ctx.log.info({ userId: 7 }, "charged")`. */
	readonly log: HandlerLog;
	/** What the handler tells while it runs, for whoever follows it. */
	readonly stream: StreamWriter;
	/** Tells how far the work is; what is not given stays as it was. */
	progress(progress: {
		/** How far it is, from 0 to 100 (as before). */
		percent?: number;
		/** What it is doing (as before). */
		message?: string;
	}): Promise<void>;
	/**
	 * Reports what was spent of a budget, and tells what came of it: a breach is an answer, not an error. Said again under
	 * the same `dedupKey` within 24 hours, also by a later attempt, it is counted once; without one each call counts.
	 */
	usage(
		budget: string,
		dims: Record<string, number>,
		options?: {
			/** A repeat within 24 hours under this key is not counted again (none). */
			dedupKey?: string;
		},
	): Promise<UsageReply>;
	/**
	 * Runs `fn` once and records what it returned. When the handler runs again, after a retry, a crash or a wait, it gives that
	 * without running. Steps of one name are told apart by the order of the calls. What it gives is what was recorded: JSON, or
	 * bytes as `Uint8Array`. A step that failed runs again the next time.
	 */
	step<T>(name: string, fn: StepFunction<T>, options?: StepOptions): Promise<T>;
	/**
	 * Waits for a signal without holding anything: the handler is unwound and starts from the top when it has come. Throws a
	 * `WaitTimeout` when it does not come within `timeoutMs`.
	 */
	waitForSignal(name: string, options?: WaitForSignalOptions): Promise<ReceivedSignal>;
	/** Waits like `waitForSignal` for people to say yes or no at the waitpoint `key` (`approval`). */
	waitForApproval(key?: string, options?: WaitForApprovalOptions): Promise<Approval>;
	/** Waits like `waitForSignal` until a condition holds, and gives the signals that made it hold. */
	waitFor(name: string, options: WaitForOptions): Promise<ReceivedSignal[]>;
	/**
	 * A waitpoint to give to somebody before waiting at it: signals that come early are kept. While it is open the same key
	 * gives the same one.
	 */
	waitpoint(
		key: string,
		options?: {
			/** Milliseconds it stays open unless a suspension uses it (no limit). */
			expiresMs?: number;
		},
	): Promise<OpenedWaitpoint>;
	/**
	 * Submits work that belongs to this. The key says which child it is: a run that comes by again, after a crash or a wait,
	 * gets the same one, whatever else it says. What is left out of lane, priority, fairness key and quotas is this work's.
	 */
	submitChild(key: string, kind: string, input?: unknown, options?: ChildOptions): Promise<Child>;
	/**
	 * Waits for children without holding anything, and gives what came of them in the order they were submitted. The handler is
	 * unwound and starts from the top, also when all of them are done already.
	 */
	waitForChildren<R = unknown>(options?: WaitForChildrenOptions): Promise<ChildOutcome<R>[]>;
	/** Sleeps: up to 5 s where it is, longer without holding anything. A later run does not sleep again. */
	sleep(ms: number): Promise<void>;
}

/** An upstream in a flow, as it ended. */
export interface Parent {
	/** Its execution. */
	executionId: string;
	/** How it ended. */
	publicState: Execution["publicState"];
	/** JSON, or bytes as `Uint8Array`; left out when all of them together are larger than 1 MiB, or when there is none. */
	result?: unknown;
	/** Bytes of the result. */
	size?: number;
	/** Media type of the result. */
	contentType?: string;
	/** Why it failed, if it did. */
	failure?: {
		/** The message of what was thrown, or what the engine says went wrong. */
		reason: string;
		/** The kind of failure, as retry policies name it. */
		category: string;
	};
	/** The result, read apart when it did not come along; undefined when there is none. */
	load(): Promise<unknown>;
}

/** What runs executions of a kind. What it returns is the result; what it throws is a failure. */
export type Handler<I = never, R = unknown> = (ctx: Context<I>, input: I) => Promise<R> | R;

/** Wraps every handler of a worker; `next` runs the rest and gives the handler's result. */
export type Middleware = (ctx: Context, next: () => Promise<unknown>) => Promise<unknown>;

const NO_PARENTS: Context["parents"] = Object.freeze({});

function parentsOf(views: Readonly<Record<string, ParentView>>, { backend }: HandlerRun): Context["parents"] {
	const parents = Object.entries(views).map(([name, { resultBase64, ...view }]): [string, Parent] => {
		const parent: Omit<Parent, "load"> = view;
		if (resultBase64 !== undefined) parent.result = new Uint8Array(Buffer.from(resultBase64, "base64"));
		const isElsewhere = parent.size !== undefined && !("result" in parent);
		const load = async () =>
			isElsewhere ? fromBytes(await backend.executions.result(parent.executionId)) : parent.result;
		return [name, { ...parent, load }];
	});
	return Object.fromEntries(parents);
}

/** Handlers take calls out of their context, so none of these needs one. */
export class RunContext implements Context {
	readonly execution: Context["execution"];
	readonly attempt: Context["attempt"];
	readonly input: unknown;
	readonly contentType: string;
	readonly parents: Context["parents"];
	readonly #run: HandlerRun;
	readonly #stepCount: number;
	/** Made only when asked for, as many handlers never do. */
	#parts: { steps: Steps; waits: Waits; children: Children } | undefined;
	readonly #awaited: ClaimedExecution["children"];

	constructor(claimed: ClaimedExecution, run: HandlerRun) {
		const { id, kind, namespace, lane, tags, flowId, traceparent } = claimed;
		this.execution = { id, kind, namespace, lane, tags };
		if (flowId !== undefined) this.execution.flowId = flowId;
		if (traceparent !== undefined) this.execution.traceparent = traceparent;
		this.attempt = claimed.attempt;
		this.input = inputOf(claimed);
		this.contentType = claimed.contentType;
		this.parents = claimed.parents ? parentsOf(claimed.parents, run) : NO_PARENTS;
		this.#stepCount = claimed.stepCount;
		this.#awaited = claimed.children;
		this.#run = run;
	}

	get signal(): AbortSignal {
		return this.#run.signal;
	}

	get log(): HandlerLog {
		return this.#run.log;
	}

	get stream(): StreamWriter {
		return this.#going.stream;
	}

	readonly progress: Context["progress"] = async (progress) => {
		const { backend, id, fence } = this.#going;
		await backend.leases.progress(id, { fence, ...progress });
	};

	/** The key is made here, so that a report that has to be sent twice is the same report. */
	readonly usage: Context["usage"] = async (budget, dims, { dedupKey = randomUUID() } = {}) => {
		const { backend, id, fence } = this.#going;
		return backend.leases.usage(id, { fence, budget, dims, dedupKey });
	};

	readonly step: Context["step"] = (name, fn, options = {}) => this.#made.steps.step(name, fn, options);

	readonly waitForSignal: Context["waitForSignal"] = (name, options = {}) =>
		this.#made.waits.signal(name, options, callSite(this.waitForSignal));

	readonly waitForApproval: Context["waitForApproval"] = (key = "approval", options = {}) =>
		this.#made.waits.approval(key, options, callSite(this.waitForApproval));

	readonly waitFor: Context["waitFor"] = (name, options) =>
		this.#made.waits.condition(name, options, callSite(this.waitFor));

	readonly sleep: Context["sleep"] = (ms) => this.#made.waits.sleep(ms, callSite(this.sleep));

	readonly submitChild: Context["submitChild"] = (key, kind, input, options = {}) =>
		this.#made.children.submit(key, kind, input, options);

	readonly waitForChildren = <R = unknown>(options: WaitForChildrenOptions = {}): Promise<ChildOutcome<R>[]> =>
		this.#made.children.wait(options, callSite(this.waitForChildren)) as Promise<ChildOutcome<R>[]>;

	readonly waitpoint: Context["waitpoint"] = async (key, options = {}) => {
		const { backend, id, fence } = this.#going;
		const opened = await insist(this.#run, () => backend.leases.createWaitpoint(id, { fence, key, ...options }));
		return { id: opened.id, key: opened.key, token: opened.token, callbackUrl: opened.callbackUrl };
	};

	/** A run that was unwound is told so again by whatever it calls. */
	get #going(): HandlerRun {
		if (this.#run.over instanceof HandlerSuspended) throw this.#run.over;
		return this.#run;
	}

	get #made(): { steps: Steps; waits: Waits; children: Children } {
		if (!this.#parts) {
			const steps = new Steps(this.#run, this.#stepCount);
			const children = new Children(this.#run, steps, this.#awaited);
			this.#parts = { steps, waits: new Waits(this.#run, steps), children };
		}
		return this.#parts;
	}
}

/** JSON and text as values, everything else as bytes. */
function inputOf(claimed: ClaimedExecution): unknown {
	return claimed.inputBase64 === undefined ? claimed.input : new Uint8Array(Buffer.from(claimed.inputBase64, "base64"));
}
