import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { errorBody, FlowFabricError } from "../contract/errors.ts";
import { ERRORS } from "../kernel/errors.ts";
import { SAFE_HEADERS } from "./headers.ts";
import type { ServerLines } from "./log.ts";

const RETRY_AFTER_S = 1;

/** Every refusal leaves as `{error: {code, message, retryable, details?}}` with the status of the table. */
export function handleErrors(app: FastifyInstance, log: ServerLines, methodsOf: (path: string) => string[]): void {
	app.setErrorHandler((thrown: FastifyError, request, reply) => {
		const error = translated(thrown, request);
		if (error.code === "internal" && !isOfALeaver(thrown, request)) {
			log.error(
				{ err: thrown, requestId: request.id, route: request.routeOptions.url },
				"a call failed with an internal error",
			);
		}
		return sendError(reply, error);
	});
	app.setNotFoundHandler((request, reply) => {
		const path = request.url.split("?", 1)[0] ?? "";
		const methods = methodsOf(path);
		if (methods.length === 0) {
			return sendError(
				reply,
				new FlowFabricError("not_found", { message: `no route ${request.method} ${clip(path)}` }),
			);
		}
		reply.header("allow", methods.join(", "));
		return sendError(
			reply,
			new FlowFabricError("method_not_allowed", {
				message: `${clip(path)} has no ${request.method}; it has ${methods.join(", ")}`,
				details: { allow: methods },
			}),
		);
	});
}

export function sendError(reply: FastifyReply, error: FlowFabricError): FastifyReply {
	if (error.status === 429 || error.status === 503) reply.header("retry-after", RETRY_AFTER_S);
	if (error.status === 401) reply.header("www-authenticate", 'Bearer realm="flowfabric"');
	return reply
		.code(error.status)
		.type("application/json; charset=utf-8")
		.send({ error: errorBody(error) });
}

/** Whoever leaves closes the text of an answer that has not begun, and there is nobody to be told of it. */
const isOfALeaver = ({ code }: FastifyError, { raw }: FastifyRequest): boolean =>
	code === "ERR_STREAM_PREMATURE_CLOSE" && raw.socket.destroyed;

/** What the framework refuses, in our words. */
export function translated(thrown: FastifyError, request: FastifyRequest): FlowFabricError {
	if (thrown instanceof FlowFabricError) return thrown;
	switch (thrown.code) {
		case "FST_ERR_CTP_BODY_TOO_LARGE":
			return new FlowFabricError("payload_too_large", {
				message: `the body must be at most ${request.routeOptions.bodyLimit} bytes`,
				details: { limit: request.routeOptions.bodyLimit, route: routeOf(request) },
			});
		// Not 415: the table of statuses is short, and a client handles "the request is wrong" in one place.
		case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
		case "FST_ERR_CTP_INVALID_TYPE":
			return invalid(
				"content-type",
				`must be application/json, got ${clip(request.headers["content-type"] ?? "none")}`,
			);
		case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
			return invalid("content-length", "does not fit the body");
		case "FST_ERR_BAD_URL":
			return invalid("url", "cannot be decoded");
		case "FST_ERR_MAX_PARAM_LENGTH":
			return invalid("url", "a part of the path is too long");
		default:
			return untold(thrown);
	}
}

/** Whatever else the framework or a plugin of it refuses; a path that leads out of a folder is one that is not there. */
function untold(thrown: FastifyError): FlowFabricError {
	const { statusCode = 500 } = thrown;
	if (statusCode === 403 || statusCode === 404) return new FlowFabricError("not_found");
	if (statusCode >= 400 && statusCode < 500) return invalid("request", thrown.message);
	return new FlowFabricError("internal", { cause: thrown });
}

export const routeOf = (request: FastifyRequest): string => `${request.method} ${request.routeOptions.url ?? ""}`;

export function invalid(field: string, problem: string): FlowFabricError {
	return new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
}

const clip = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** What is not HTTP, too slow or too long in its head never becomes a request; it gets the same form of answer. */
export function answerBadConnection(error: Error & { code?: string }, socket: Socket): void {
	if (error.code === "ECONNRESET" || !socket.writable) {
		socket.destroy();
		return;
	}
	const told =
		error.code === "ERR_HTTP_REQUEST_TIMEOUT"
			? new FlowFabricError("request_timeout")
			: error.code === "HPE_HEADER_OVERFLOW"
				? invalid("headers", "are too long")
				: invalid("request", "is not valid HTTP");
	const body = JSON.stringify({ error: errorBody(told) });
	const { status } = ERRORS[told.code];
	const headers = {
		connection: "close",
		"content-type": "application/json; charset=utf-8",
		"content-length": Buffer.byteLength(body),
		...SAFE_HEADERS,
	};
	const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
	socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`);
}
