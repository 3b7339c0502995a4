import { Agent, type IncomingHttpHeaders, request as send } from "node:http";

export interface Answer {
	status: number;
	headers: IncomingHttpHeaders;
	text: string;
}

export interface Request {
	method: string;
	path: string;
	headers: Record<string, string>;
	body: string | undefined;
}

/** As much of an answer as is read: whoever asks for a backup of everything goes away early. */
const ENOUGH = 512 * 1024;

/** Sends requests to one server over connections that are used again. */
export class Striker {
	readonly #origin: URL;
	readonly #agent: Agent;

	constructor(address: string, connections: number) {
		this.#origin = new URL(address);
		// In turn, so that none is idle for so long that the server closes it just when it is used again.
		this.#agent = new Agent({ keepAlive: true, maxSockets: connections, scheduling: "fifo" });
	}

	close(): void {
		this.#agent.destroy();
	}

	/** Sends one and hears the answer; streams are read until their first bytes. Rejects when the connection breaks. */
	strike({ method, path, headers, body }: Request): Promise<Answer> {
		return new Promise((resolve, reject) => {
			const bytes = body === undefined ? undefined : Buffer.from(body);
			const call = send(
				{
					agent: this.#agent,
					host: this.#origin.hostname,
					port: this.#origin.port,
					method,
					path,
					headers: bytes ? { ...headers, "content-length": String(bytes.length) } : headers,
				},
				(response) => {
					const chunks: Buffer[] = [];
					let length = 0;
					const { statusCode: status = 0, headers: answered } = response;
					const done = () => resolve({ status, headers: answered, text: Buffer.concat(chunks).toString() });
					const leave = () => {
						done();
						call.destroy();
					};
					response.on("error", reject);
					if (answered["content-type"]?.startsWith("text/event-stream")) return leave();
					response.on("data", (chunk: Buffer) => {
						chunks.push(chunk);
						length += chunk.length;
						if (length > ENOUGH) leave();
					});
					response.on("end", done);
				},
			);
			call.on("error", reject);
			call.end(bytes);
		});
	}
}
