import type { FastifyReply } from "fastify";
import { isOverdue } from "./answer-deadline.ts";
import { tenantOf } from "./auth.ts";
import type { Pool } from "./pools.ts";
import type { ServerContext } from "./server-context.ts";

/** Why a wait was called off. */
export type Ending = "gone" | "closing" | "crowded";

/**
 * One call that may wait: its signal aborts when the principal goes away, or when the server closes or others need its
 * place and whoever waits is to be answered with what there is.
 */
export class PendingCall {
	readonly #controller = new AbortController();
	readonly #reply: FastifyReply;
	readonly #waiting: Set<PendingCall>;
	readonly #left = () => this.end("gone");
	ending: Ending | undefined;

	constructor(reply: FastifyReply, waiting: Set<PendingCall>) {
		this.#reply = reply;
		this.#waiting = waiting;
		waiting.add(this);
		reply.raw.once("close", this.#left);
	}

	get signal(): AbortSignal {
		return this.#controller.signal;
	}

	end(why: Ending): void {
		this.ending ??= why;
		this.#controller.abort(why);
	}

	/** The wait is over; from here on nobody needs to be told. */
	leave(): void {
		this.#waiting.delete(this);
		this.#reply.raw.off("close", this.#left);
	}
}

/** A read that waits for something: called off, it answers with what there is now. */
export async function waiting<T>(
	context: ServerContext,
	reply: FastifyReply,
	{ wait, now }: { wait(signal: AbortSignal): Promise<T>; now(): Promise<T> },
	pool: Pool = context.pools.waits,
): Promise<T> {
	const place = pool.take(tenantOf(reply.request));
	const call = new PendingCall(reply, context.waiting);
	place.makeRoom = () => call.end("crowded");
	try {
		return await wait(call.signal);
	} catch (error) {
		if (!call.ending) throw error;
		return await now();
	} finally {
		call.leave();
		place.give();
	}
}

/** Calls `left` when the answer has left, or whoever asked has. */
export function onceLeft({ raw }: FastifyReply, left: () => void): void {
	if (raw.destroyed || raw.socket?.destroyed) left();
	else raw.once("close", left);
}

/** Calls `lost` if the reply does not reach the network, at once or later, or another was given in its place. */
export function ifUndelivered(reply: FastifyReply, lost: () => void): void {
	const { raw } = reply;
	if (isOverdue(reply) || raw.destroyed || raw.socket?.destroyed) {
		lost();
		return;
	}
	raw.once("close", () => {
		if (!raw.writableFinished) lost();
	});
}
