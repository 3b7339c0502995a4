import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";

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

/** Every reply is data for one caller: not to be sniffed, framed, cached or told on. */
const ALWAYS = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };
const DATA = { "content-security-policy": "default-src 'none'; frame-ancestors 'none'", "cache-control": "no-store" };

export function setHeaders(app: FastifyInstance, isClosing: () => boolean): void {
	app.addHook("onRequest", (request, reply, done) => {
		reply.header("x-request-id", request.id);
		reply.headers(ALWAYS);
		// Pages of the docs bring their own policy.
		if (!request.url.startsWith("/docs")) reply.headers(DATA);
		if (isClosing()) reply.header("connection", "close");
		done();
	});
}
