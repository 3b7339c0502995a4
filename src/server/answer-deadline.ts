import type { FastifyReply, FastifyRequest } from "fastify";
import { FlowFabricError } from "../contract/errors.ts";
import { MAX_POLL_MS } from "../contract/executions.ts";
import { routeOf } from "./errors.ts";

export type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** What is done for whoever runs the server, or waited for to be done, may take longer, by so many times. */
const PATIENCE = 4;

/** Replies that were given because time was over: what their handlers come to goes nowhere. */
const overdue = new WeakSet<FastifyReply>();

export const isOverdue = (reply: FastifyReply): boolean => overdue.has(reply);

export interface AnswerDeadline {
	/** How long a request may take from its head to its answer. */
	requestTimeoutMs: number;
	area: string;
	/** Whether the caller wants to hear only when all is done. */
	untilDone?: ((request: FastifyRequest) => boolean) | undefined;
	/** How long the call itself is to wait for something. */
	waitMs?: ((request: FastifyRequest) => unknown) | undefined;
}

/**
 * Answers in time, whatever the handler waits for. Where the store does not answer the engine says so a little earlier and
 * in better words; this is for all else. A stream that has begun is an answer.
 */
export function inTime(handle: Handler, { requestTimeoutMs, area, untilDone, waitMs }: AnswerDeadline): Handler {
	return (request, reply) => {
		// Before the handler begins: between its promise and whoever hears it nothing may throw.
		const isPatient = area === "administration" || untilDone?.(request) === true;
		const limitMs = requestTimeoutMs * (isPatient ? PATIENCE : 1) + (waitMs ? waitOf(waitMs(request)) : 0);
		const answer = handle(request, reply);
		if (!(answer instanceof Promise)) return answer;
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => {
				if (reply.raw.headersSent) return;
				overdue.add(reply);
				reject(lateError(request, limitMs));
			}, limitMs - reply.elapsedTime);
			answer.then(resolve, reject).finally(() => clearTimeout(timer));
		});
	};
}

/** As given, and not checked yet: an object may have a `toString` that is none. */
function waitOf(given: unknown): number {
	const ms = typeof given === "number" || typeof given === "string" ? Number(given) : 0;
	return ms > 0 ? Math.min(ms, MAX_POLL_MS) : 0;
}

function lateError(request: FastifyRequest, limitMs: number): FlowFabricError {
	const fate = request.method === "GET" ? "" : "; what was asked may have been done, or may be yet";
	return new FlowFabricError("request_timeout", {
		message: `${routeOf(request)} was not answered within ${limitMs} ms${fate}`,
		details: { limitMs },
	});
}
