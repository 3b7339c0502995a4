import type { FastifyReply } from "fastify";
import type { Frame } from "./frame.ts";

/** Why a wait was called off. */
export type Ending = "gone" | "closing";

/**
 * One call that may wait: its signal aborts when the caller goes away, or when the server closes and whoever waits is to
 * be answered with what there is.
 */
export class Presence {
	readonly #controller = new AbortController();
	readonly #reply: FastifyReply;
	readonly #waiting: Set<Presence>;
	readonly #left = () => this.end("gone");
	ending: Ending | undefined;

	constructor(reply: FastifyReply, waiting: Set<Presence>) {
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
	frame: Frame,
	reply: FastifyReply,
	{ wait, now }: { wait(signal: AbortSignal): Promise<T>; now(): Promise<T> },
): Promise<T> {
	frame.pools.waits.take();
	const presence = new Presence(reply, frame.waiting);
	try {
		return await wait(presence.signal);
	} catch (error) {
		if (!presence.ending) throw error;
		return await now();
	} finally {
		presence.leave();
		frame.pools.waits.give();
	}
}

/** Calls `lost` if the reply does not reach the network, at once or later. */
export function ifUndelivered(reply: FastifyReply, lost: () => void): void {
	const { raw } = reply;
	if (raw.destroyed || raw.socket?.destroyed) {
		lost();
		return;
	}
	raw.once("close", () => {
		if (!raw.writableFinished) lost();
	});
}
