import { setMaxListeners } from "node:events";
import { type Clock, systemClock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { manyMayListen } from "../contract/signals.ts";
import { TRY_HEADER } from "../contract/worker-protocol.ts";
import { activeTraceparent } from "../tracing/trace-context.ts";
import { type Answer, exchange, NoAnswer, type StreamListener } from "./exchange.ts";
import { type ConnectOptions, checkOptions } from "./options.ts";
import { isServerAway, refusalOf } from "./refusals.ts";
import { type Server, Servers } from "./servers.ts";

/**
 * When a call that got no answer may be sent again: always, because sending it twice does the same as once; only when
 * nothing can have happened; or never, because the caller has its own way of trying again.
 */
export type Repeat = "always" | "undone" | "never";

export interface Call {
	method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
	path: string;
	/** JSON, ready to be sent. */
	body?: string;
	/** Anything else that is to be sent, and what it is. */
	bytes?: Uint8Array;
	contentType?: string | undefined;
	repeat: Repeat;
	/** Says with the call which try it is: the first cannot have been answered before. */
	numbered?: true;
	/** Told, before it is sent again, that nobody answered. */
	onUnanswered?: ((error: FlowFabricError) => void) | undefined;
	/** How long the server itself may wait before it answers. */
	waitMs?: number;
	/** How long to try; else as long as the connection was told. */
	withinMs?: number;
	signal?: AbortSignal | undefined;
}

/** A call whose answer is taken as it comes in. */
export interface StreamCall {
	method: "GET" | "POST";
	path: string;
	headers?: Record<string, string>;
	/** JSON, ready to be sent. */
	body?: string;
}

const JSON_BODY = { "content-type": "application/json" };
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;
/** A stream that says nothing for this long, not even a comment, is dead. */
const STREAM_SILENCE_MS = 45_000;

/**
 * The connection to a server, or to several of one store: sends calls, tries again where that is safe, and gives refusals
 * the form they have in process.
 */
export class Transport {
	readonly clock: Clock;
	readonly timeoutMs: number;
	readonly #headers: Record<string, string>;
	readonly #servers: Servers;
	readonly #closing = new AbortController();

	constructor(urls: string | readonly string[], options: ConnectOptions) {
		checkOptions(options);
		this.clock = options.clock ?? systemClock;
		this.timeoutMs = options.timeoutMs ?? 30_000;
		this.#headers = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` };
		this.#servers = new Servers(urls, options, this.timeoutMs);
		// Every call that pauses listens to it.
		setMaxListeners(0, this.#closing.signal);
	}

	get closed(): boolean {
		return this.#closing.signal.aborted;
	}

	async json<T>(call: Call): Promise<T> {
		const { body } = await this.send(call);
		return JSON.parse(body.toString()) as T;
	}

	/** The answer, or the refusal thrown; what could not be delivered is `unreachable`. */
	async send(call: Call): Promise<Answer> {
		const deadline = this.clock.monotonic() + (call.withinMs ?? this.timeoutMs) + (call.waitMs ?? 0);
		for (let tries = 0, left = 0; ; tries++) {
			if (this.closed) throw new FlowFabricError("shutting_down");
			const failure = await this.#try(call, tries + 1);
			if (!("error" in failure)) return failure;
			if (failure.isAway) left += 1;
			// The next server may answer at once; only when all were asked does asking again have to wait.
			const asksNext = failure.isAway && left % this.#servers.count !== 0;
			const pause = asksNext ? 0 : pauseAfter(tries, failure.retryAfterMs);
			const mayRepeat = call.repeat === "always" || (call.repeat === "undone" && failure.undone);
			if (!mayRepeat || !failure.error.retryable || this.clock.monotonic() + pause > deadline) throw failure.error;
			if (failure.isAway && !asksNext) call.onUnanswered?.(failure.error);
			await this.pause(pause, call.signal);
		}
	}

	/** An answer as it comes in; resolves when it has ended whole, throws like any call if not. */
	async stream(call: StreamCall, signal: AbortSignal, listener: StreamListener): Promise<void> {
		const { method, path, headers, body } = call;
		if (this.closed) throw new FlowFabricError("shutting_down");
		let open = false;
		const server = this.#servers.current;
		try {
			const answer = await exchange(
				server.waits,
				{
					method,
					path: server.prefix + path,
					headers: { ...this.#headers, ...(body === undefined ? undefined : JSON_BODY), ...headers },
					body: body ?? null,
					timeoutMs: STREAM_SILENCE_MS,
					signal,
				},
				{
					opened: (flow) => {
						open = true;
						listener.opened(flow);
					},
					received: listener.received,
				},
			);
			if (answer.status < 400) return;
			const { error } = refusalOf(answer);
			if (isServerAway(error)) this.#servers.leave(server);
			throw error;
		} catch (error) {
			if (!(error instanceof NoAnswer)) throw error;
			this.#servers.leave(server);
			throw unreachable(error, server, open);
		}
	}

	/** Ends early, without an error, when the connection is closed; with the signal's reason when that aborts. */
	async pause(ms: number, signal?: AbortSignal): Promise<void> {
		signal?.throwIfAborted();
		manyMayListen(signal);
		await new Promise<void>((resolve) => {
			const end = () => {
				disarm();
				signal?.removeEventListener("abort", end);
				this.#closing.signal.removeEventListener("abort", end);
				resolve();
			};
			const disarm = this.clock.setTimer(ms, end);
			signal?.addEventListener("abort", end);
			this.#closing.signal.addEventListener("abort", end);
		});
		signal?.throwIfAborted();
	}

	/** Calls under way are answered; what waits is called off. */
	async close(): Promise<void> {
		if (this.closed) return;
		this.#closing.abort();
		await this.#servers.close();
	}

	async #try(
		call: Call,
		number: number,
	): Promise<Answer | { error: FlowFabricError; undone: boolean; retryAfterMs: number; isAway: boolean }> {
		const { method, path, body, waitMs = 0, signal } = call;
		const headers = { ...this.#headers };
		if (body !== undefined) Object.assign(headers, JSON_BODY);
		else if (call.contentType !== undefined) headers["content-type"] = call.contentType;
		if (call.numbered) headers[TRY_HEADER] = String(number);
		const traceparent = activeTraceparent();
		if (traceparent !== undefined) headers.traceparent = traceparent;
		const server = this.#servers.current;
		try {
			const answer = await exchange(waitMs > 0 ? server.waits : server.calls, {
				method,
				path: server.prefix + path,
				headers,
				body: body ?? call.bytes ?? null,
				timeoutMs: this.timeoutMs + waitMs,
				signal,
			});
			if (answer.status < 400) return answer;
			const refused = refusalOf(answer);
			const isAway = isServerAway(refused.error);
			if (isAway) this.#servers.leave(server);
			return { ...refused, isAway };
		} catch (error) {
			if (!(error instanceof NoAnswer)) throw error;
			if (this.closed) throw new FlowFabricError("shutting_down");
			this.#servers.leave(server);
			return { error: unreachable(error, server), undone: !error.sent, retryAfterMs: 0, isAway: true };
		}
	}
}

/** Doubling and spread, so that many clients of a server that comes back do not come at once. */
export function pauseAfter(tries: number, atLeast = 0): number {
	const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(tries, 10));
	return Math.max(pause * (0.5 + Math.random() / 2), atLeast * (1 + Math.random() / 2));
}

function unreachable(cause: NoAnswer, { url: server }: Server, begun = false): FlowFabricError {
	const what = begun
		? `the connection to ${server} broke before the answer was complete`
		: `the server at ${server} could not be reached`;
	return new FlowFabricError("unreachable", { message: `${what}: ${cause.message}`, details: { server }, cause });
}
