import { FlowFabricError } from "../contract/errors.ts";
import { MAX_DELAY_MS } from "../contract/fields.ts";
import type { SignalView } from "../contract/replies.ts";
import type { SuspendRequest } from "../contract/waitpoints.ts";
import { HandlerSuspended, TerminalError, WaitTimeout } from "./errors.ts";
import { type HandlerRun, insist, pause } from "./handler-run.ts";
import { isTimeout, type ReceivedSignal, received } from "./received-signal.ts";
import type { Steps } from "./steps.ts";

/** For how long a handler waits, and what becomes of it then. */
export interface WaitLimits {
	/** Milliseconds to wait at most (as the policy of the execution says, else no limit). */
	timeoutMs?: number;
	/** What happens then: `resume` throws a `WaitTimeout` in the handler; see the docs for the others (`resume` with `timeoutMs`). */
	timeoutBehavior?: NonNullable<SuspendRequest["timeoutBehavior"]>;
}

/** Where a signal is to arrive, and how long to wait for it. */
export interface WaitForSignalOptions extends WaitLimits {
	/** The key of the waitpoint where it is to arrive (the name of the signal). */
	waitpoint?: string;
	/** Why it waits, for whoever looks (`waiting_for_signal`). */
	reason?: SuspendRequest["reason"];
}

/** Whose approval is needed, and how long to wait for it. */
export interface WaitForApprovalOptions extends WaitLimits {
	/** How many have to say yes, each of them somebody else (1). One who says no ends it. */
	approvals?: number;
	/** Why it waits, for whoever looks (`waiting_for_approval`). */
	reason?: SuspendRequest["reason"];
}

/** What people answered. */
export interface Approval {
	/** Whether enough said yes. */
	approved: boolean;
	/** What the one who decided it sent along. */
	payload?: unknown;
	/** Who that was. */
	by?: {
		/** Type of the sender. */
		type: string;
		/** Who the sender is. */
		identity: string;
	};
	/** Every answer that counted. */
	signals: ReceivedSignal[];
}

/** What to wait for, and how long. */
export interface WaitForOptions extends WaitLimits {
	/** What must come. */
	condition: SuspendRequest["condition"];
	/** Keys of the waitpoints where signals arrive (the name of the wait). */
	waitpoints?: string[];
	/** Why it waits, for whoever looks (`waiting_for_signal`). */
	reason?: SuspendRequest["reason"];
	/** Milliseconds after that until it goes on (0). */
	resumeDelayMs?: number;
}

const APPROVE = "approve";
const REJECT = "reject";

/** Up to here a handler sleeps where it is. */
const MOST_IN_PLACE_MS = 5000;

/**
 * What a handler waits for outside of itself. It gives up its lease meanwhile and is unwound; when it gets here again, what it
 * waited for is handed over under the same key, recorded like a step, and never waited for again.
 */
export class Waits {
	readonly #run: HandlerRun;
	readonly #steps: Steps;

	constructor(run: HandlerRun, steps: Steps) {
		this.#run = run;
		this.#steps = steps;
	}

	async signal(name: string, options: WaitForSignalOptions, at: string): Promise<ReceivedSignal> {
		const { waitpoint = name, reason = "waiting_for_signal", ...limits } = options;
		const call = { text: `ctx.waitForSignal(${JSON.stringify(name)})`, at };
		const condition = { signal: name, waitpoint };
		const signals = await this.#wait(name, { condition, waitpoints: [{ key: waitpoint }], reason, ...limits }, call);
		refuseLate(signals, `signal ${name}`);
		const found = signals.find((signal) => signal.name === name) ?? signals[0];
		// Nobody sent one: an operator let it go on.
		return found ? received(found) : { name: "resume", source: { type: "operator", identity: "" } };
	}

	async approval(key: string, options: WaitForApprovalOptions, at: string): Promise<Approval> {
		const { approvals = 1, reason = "waiting_for_approval", ...limits } = options;
		const call = { text: `ctx.waitForApproval(${JSON.stringify(key)})`, at };
		const yes: SuspendRequest["condition"] =
			approvals === 1 ? { signal: APPROVE } : { count: { n: approvals, distinctBy: "source", match: APPROVE } };
		const condition = { anyOf: [yes, { signal: REJECT }] };
		const signals = await this.#wait(key, { condition, waitpoints: [{ key }], reason, ...limits }, call);
		refuseLate(signals, `approval ${key}`);
		const no = signals.find(({ name }) => name === REJECT);
		const decided = no ?? signals.findLast(({ name }) => name === APPROVE);
		const approval: Approval = { approved: decided !== undefined && !no, signals: signals.map(received) };
		if (!decided) return approval;
		const { payload, source } = received(decided);
		if (payload !== undefined) approval.payload = payload;
		if (source) approval.by = source;
		return approval;
	}

	async condition(name: string, options: WaitForOptions, at: string): Promise<ReceivedSignal[]> {
		const { waitpoints = [name], reason = "waiting_for_signal", ...rest } = options;
		const call = { text: `ctx.waitFor(${JSON.stringify(name)})`, at };
		const request = { reason, waitpoints: waitpoints.map((key) => ({ key })), ...rest };
		const signals = await this.#wait(name, request, call);
		refuseLate(signals, name);
		return signals.map(received);
	}

	async sleep(ms: number, at: string): Promise<void> {
		if (!Number.isFinite(ms) || ms < 0 || ms > MAX_DELAY_MS) {
			throw new FlowFabricError("invalid_input", {
				message: `ms: must be a number of milliseconds from 0 to ${MAX_DELAY_MS} (ten years), got ${String(ms)}`,
				details: { field: "ms" },
			});
		}
		const run = this.#run;
		if (ms <= MOST_IN_PLACE_MS && ms <= run.leaseMs / 3) return this.#sleepInPlace(ms);
		const request = {
			condition: { timeoutOnly: true },
			reason: "step_boundary",
			timeoutMs: Math.ceil(ms),
			timeoutBehavior: "resume",
		} as const;
		await this.#wait("sleep", request, { text: `ctx.sleep(${ms})`, at });
	}

	async #sleepInPlace(ms: number): Promise<void> {
		const run = this.#run;
		const index = this.#steps.next(SLEEP);
		if (await this.#steps.find(SLEEP, index)) return;
		const startedAt = this.#steps.now();
		await pause(run, ms);
		if (run.isAborted) run.signal.throwIfAborted();
		await this.#steps.keep(SLEEP, index, startedAt, undefined);
	}

	/** The signals that ended a wait; unwinds the handler while there is something to wait for. */
	async #wait(
		name: string,
		request: Omit<SuspendRequest, "fence" | "idempotencyKey">,
		call: { text: string; at: string },
	): Promise<SignalView[]> {
		const run = this.#run;
		const step = `wait:${name}`;
		const index = this.#steps.next(step);
		const recorded = await this.#steps.find(step, index);
		if (recorded) return (recorded.value as RecordedWait | undefined)?.signals ?? [];
		const startedAt = this.#steps.now();
		const { id, fence, backend } = run;
		const behavior = request.timeoutMs === undefined ? undefined : ({ timeoutBehavior: "resume" } as const);
		await run.flush();
		const { status, signals = [] } = await insist(run, () =>
			backend.leases.suspend(id, { fence, ...behavior, ...request, idempotencyKey: `${step}#${index}` }),
		);
		if (status === "already_satisfied") {
			await this.#keep(step, index, startedAt, signals);
			return signals;
		}
		if (status === "cancelled") {
			run.lose("cancelled", "cancelled while it was about to wait");
			throw run.over;
		}
		const unwinding = new HandlerSuspended(call.text, call.at);
		run.suspended(unwinding);
		throw unwinding;
	}

	/** What does not fit among the steps is asked for once more under the key of its wait. */
	async #keep(step: string, index: number, startedAt: number, signals: SignalView[]): Promise<void> {
		const wait: RecordedWait = { signals };
		try {
			await this.#steps.keep(step, index, startedAt, wait);
		} catch (error) {
			if (!(error instanceof TerminalError)) throw error;
			this.#run.log.debug(error.message);
		}
	}
}

const SLEEP = "wait:sleep";

/** A wait as it is recorded. */
interface RecordedWait {
	signals: SignalView[];
}

function refuseLate(signals: readonly SignalView[], wait: string): void {
	if (signals.some(isTimeout)) throw new WaitTimeout(wait);
}

/** Where a handler calls its context, for whoever has to look there. `beyond` and all it calls are left out. */
export function callSite(beyond: (...args: never[]) => unknown): string {
	const place: { stack?: string } = {};
	Error.captureStackTrace(place, beyond);
	const line = place.stack?.split("\n").find((text) => text.startsWith("    at "));
	return line?.trim() ?? "at an unknown line";
}
