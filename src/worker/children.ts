import { type ChildRequest, MAX_CHILDREN_PER_CALL, type WaitChildrenRequest } from "../contract/children.ts";
import { errorFrom, FlowFabricError } from "../contract/errors.ts";
import type { ChildView, Execution } from "../contract/replies.ts";
import { activeTraceparent } from "../tracing/trace-context.ts";
import { HandlerSuspended, TerminalError } from "./errors.ts";
import { type HandlerRun, insist } from "./handler-run.ts";
import { keepChildren, recordedChildren } from "./recorded-children.ts";
import type { Steps } from "./steps.ts";

/** What may be said of a child besides its key, kind and input. */
export type ChildOptions = Omit<ChildRequest, "key" | "kind" | "input" | "inputBase64">;

/** A child that was submitted, now or by an earlier run. */
export interface Child {
	/** Its name within its parent. */
	key: string;
	/** Id of its execution. */
	id: string;
	/** False when an earlier run, or this one, submitted it before. */
	created: boolean;
}

/** Which children to wait for, and until when. */
export interface WaitForChildrenOptions {
	/** Until all have ended, until one has (`any`), or until one has succeeded or all ended (`first_success`) (`all`). */
	mode?: WaitChildrenRequest["mode"];
	/** Keys of the children that are meant, submitted before in this run (all of them). */
	keys?: readonly string[];
}

/** What came of a child. With `any` and `first_success` others may still be at work. */
export interface ChildOutcome<R = unknown> {
	/** Its name within its parent. */
	key: string;
	/** Its execution. */
	executionId: string;
	/** What it does now, or how it ended. */
	publicState: Execution["publicState"];
	/** JSON, or bytes as `Uint8Array`; left out when all of them together are larger than 1 MiB, or when there is none. */
	result?: R;
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
}

interface Asked {
	item: ChildRequest;
	resolve(child: Child): void;
	reject(error: unknown): void;
}

const STEP = "wait:children";

const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled", "expired", "skipped"]);

/**
 * Children that a handler submits and waits for. A key says which child is meant, so a run that comes by again finds the
 * same one; what a wait gave is recorded like a step.
 */
export class Children {
	readonly #run: HandlerRun;
	readonly #steps: Steps;
	/** Those that were waited for last, as they were when this run began. */
	readonly #inHand: readonly ChildView[] | undefined;
	/** Those that this run has submitted, by key. */
	readonly #ids = new Map<string, string>();
	#asked: Asked[] = [];

	constructor(run: HandlerRun, steps: Steps, inHand: readonly ChildView[] | undefined) {
		this.#run = run;
		this.#steps = steps;
		this.#inHand = inHand;
	}

	/** What is submitted at the same time goes out together. */
	submit(key: string, kind: string, input: unknown, options: ChildOptions): Promise<Child> {
		const { over } = this.#run;
		if (over) return Promise.reject(over);
		const item: ChildRequest = { ...options, key, kind };
		if (input instanceof Uint8Array) item.inputBase64 = Buffer.from(input).toString("base64");
		else if (input !== undefined) item.input = input;
		const traceparent = item.traceparent ?? activeTraceparent();
		if (traceparent !== undefined) item.traceparent = traceparent;
		return new Promise((resolve, reject) => {
			if (this.#asked.length === 0) queueMicrotask(() => this.#send());
			this.#asked.push({ item, resolve, reject });
		});
	}

	#send(): void {
		const asked = this.#asked;
		this.#asked = [];
		for (let from = 0; from < asked.length; from += MAX_CHILDREN_PER_CALL)
			void this.#sendSome(asked.slice(from, from + MAX_CHILDREN_PER_CALL));
	}

	async #sendSome(asked: readonly Asked[]): Promise<void> {
		const { id, fence, backend } = this.#run;
		const items = asked.map(({ item }) => item);
		try {
			const answers = await insist(this.#run, () => backend.leases.addChildren(id, { fence, items }));
			for (const [n, { item, resolve, reject }] of asked.entries()) {
				const answer = answers[n];
				if (answer?.ok && answer.id !== undefined) {
					this.#ids.set(item.key, answer.id);
					resolve({ key: item.key, id: answer.id, created: answer.created === true });
				} else reject(errorFrom(answer?.error ?? NO_ANSWER));
			}
		} catch (error) {
			for (const { reject } of asked) reject(error);
		}
	}

	/** Unwinds the handler while there is something to wait for. */
	async wait(options: WaitForChildrenOptions, at: string): Promise<ChildOutcome[]> {
		const { mode = "all", keys } = options;
		const run = this.#run;
		const index = this.#steps.next(STEP);
		const recorded = await recordedChildren(this.#steps, STEP, index);
		if (recorded) return recorded.map(outcomeOf);
		const ids = keys?.map((key) => this.#idOf(key));
		const startedAt = this.#steps.now();
		const answer = this.#answerTo(mode, keys);
		if (answer) {
			await this.#keep(index, startedAt, answer);
			return answer.map(outcomeOf);
		}
		const { id, fence, backend } = run;
		await run.flush();
		const { publicState } = await insist(run, () =>
			backend.leases.waitChildren(id, { fence, mode, ...(ids ? { ids } : undefined) }),
		);
		if (publicState === "cancelled") {
			run.lose("cancelled", "cancelled while it was about to wait");
			throw run.over;
		}
		const unwinding = new HandlerSuspended("ctx.waitForChildren()", at);
		run.suspended(unwinding);
		throw unwinding;
	}

	#idOf(key: string): string {
		const id = this.#ids.get(key);
		if (id !== undefined) return id;
		throw new FlowFabricError("invalid_input", {
			message: `keys: must be keys of children submitted earlier in this run, got ${JSON.stringify(key)}`,
			details: { field: "keys" },
		});
	}

	/** What was waited for last, if it answers this wait: it tells of every child that is meant, and enough of them are done. */
	#answerTo(mode: WaitChildrenRequest["mode"], keys: readonly string[] | undefined): ChildView[] | undefined {
		if (!this.#inHand) return undefined;
		const known = new Map(this.#inHand.map((child) => [child.key, child]));
		const wanted = new Set(keys ?? this.#ids.keys());
		for (const key of wanted) if (!known.has(key)) return undefined;
		const meant = this.#inHand.filter(({ key }) => keys === undefined || wanted.has(key));
		const ended = meant.filter(({ publicState }) => ENDED.has(publicState));
		if (ended.length === meant.length) return meant;
		if (mode === "any") return ended.length > 0 ? meant : undefined;
		const hasSuccess = mode === "first_success" && ended.some(({ publicState }) => publicState === "completed");
		return hasSuccess ? meant : undefined;
	}

	/** What does not fit among the steps is waited for once more. */
	async #keep(index: number, startedAt: number, children: readonly ChildView[]): Promise<void> {
		try {
			await keepChildren(this.#steps, { step: STEP, index, startedAt }, this.#run.fence.epoch, children);
		} catch (error) {
			if (!(error instanceof TerminalError)) throw error;
			this.#run.log.debug(error.message);
		}
	}
}

function outcomeOf({ resultBase64, ...child }: ChildView): ChildOutcome {
	return resultBase64 === undefined ? child : { ...child, result: new Uint8Array(Buffer.from(resultBase64, "base64")) };
}

const NO_ANSWER = { code: "internal", message: "no answer for this child", retryable: false } as const;
