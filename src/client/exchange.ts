import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { manyMayListen } from "../contract/signals.ts";

/** What goes over the wire. */
export interface Request {
	method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
	path: string;
	headers: Record<string, string>;
	body: string | Uint8Array | null;
	/** How long to wait for the answer. */
	timeoutMs: number;
	signal: AbortSignal | undefined;
}

export interface Answer {
	status: number;
	headers: IncomingHttpHeaders;
	body: Buffer;
}

/** No answer came. Until the request was begun to be sent nothing can have happened. */
export class NoAnswer extends Error {
	override name = "NoAnswer";
	readonly sent: boolean;
	constructor(cause: Error & { code?: string }, sent: boolean) {
		super(cause.message || cause.code || cause.name, { cause });
		this.sent = sent;
	}
}

/** Holds back a stream whose reader is slow. */
export type Flow = Pick<Dispatcher.DispatchController, "pause" | "resume">;

/** Told of an answer while it comes in; for streams that do not end. */
export interface StreamListener {
	opened(flow: Flow): void;
	received(chunk: Buffer): void;
}

/** One request and its answer, on undici's own callbacks: a promise and a buffer, no streams in between. */
export function exchange(dispatcher: Dispatcher, request: Request, listener?: StreamListener): Promise<Answer> {
	return new Promise((resolve, reject) => {
		const { signal } = request;
		if (signal?.aborted) {
			reject(signal.reason);
			return;
		}
		let controller: Dispatcher.DispatchController | undefined;
		let status = 0;
		let answered: IncomingHttpHeaders = {};
		const chunks: Buffer[] = [];
		const abort = () => {
			signal?.removeEventListener("abort", abort);
			reject(signal?.reason);
			controller?.abort(new Error("called off"));
		};
		manyMayListen(signal);
		signal?.addEventListener("abort", abort);
		dispatcher.dispatch(
			{
				method: request.method,
				path: request.path,
				headers: request.headers,
				body: request.body,
				headersTimeout: request.timeoutMs,
				bodyTimeout: request.timeoutMs,
			},
			{
				onRequestStart(started) {
					controller = started;
					if (signal?.aborted) started.abort(new Error("called off"));
				},
				onResponseStart(flow, statusCode, headers) {
					if (statusCode < 200) return;
					status = statusCode;
					answered = headers;
					if (status === 200) listener?.opened(flow);
				},
				onResponseData(_controller, chunk) {
					if (listener && status === 200) listener.received(chunk);
					else chunks.push(chunk);
				},
				onResponseEnd() {
					signal?.removeEventListener("abort", abort);
					const [only = Buffer.alloc(0)] = chunks;
					resolve({ status, headers: answered, body: chunks.length > 1 ? Buffer.concat(chunks) : only });
				},
				onResponseError(_controller, error) {
					signal?.removeEventListener("abort", abort);
					reject(signal?.aborted ? signal.reason : new NoAnswer(error, controller !== undefined));
				},
			},
		);
	});
}
