import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

const SANE_ID = /^[\w.:-]{1,128}$/;

/** Ids of requests: the principal's own if it is harmless in a log, else ours. */
export function requestIds(): (request: IncomingMessage) => string {
	const prefix = randomBytes(4).toString("hex");
	let count = 0;
	return (request) => {
		const given = request.headers["x-request-id"];
		return typeof given === "string" && SANE_ID.test(given) ? given : `${prefix}-${(++count).toString(36)}`;
	};
}

/** Every reply is data for one caller: not to be sniffed, framed, embedded, cached or told on. Pages of the docs differ. */
export const SAFE_HEADERS = {
	"x-content-type-options": "nosniff",
	"referrer-policy": "no-referrer",
	"cross-origin-resource-policy": "same-origin",
	"content-security-policy": "default-src 'none'; frame-ancestors 'none'",
	"cache-control": "no-store",
} as const;

export function setHeaders(app: FastifyInstance, isClosing: () => boolean): void {
	app.addHook("onRequest", (request, reply, done) => {
		makeSafe(request, reply);
		if (isClosing()) reply.header("connection", "close");
		done();
	});
}

/** What every answer carries, also one that is given before any hook runs. */
export function makeSafe(request: FastifyRequest, reply: FastifyReply): void {
	reply.header("x-request-id", request.id);
	reply.headers(SAFE_HEADERS);
}
