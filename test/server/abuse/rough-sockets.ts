import { connect, type Socket } from "node:net";
import type { Random } from "../../simulation/random.ts";
import type { Request } from "./strike.ts";

/** Ways to use a connection that no honest client has. */
export const ROUGH_WAYS = [
	"says nothing",
	"sends half a head and closes its end",
	"sends its head byte by byte",
	"sends its body byte by byte",
	"sends a chunked body without end",
	"closes its end behind the request",
	"never reads its answers",
	"never reads an event stream",
	"waits and goes away",
	"sends a hundred requests at once",
	"sends a body of another length",
	"sends two lengths",
	"sends a head that is too long",
	"speaks no HTTP",
] as const;

export type RoughWay = (typeof ROUGH_WAYS)[number];

/** Sockets kept at the same time; the oldest makes room. The server should have cut most of them by then. */
const MOST = 400;
const DRIP_MS = 250;
const STATUS = /HTTP\/1\.1 (\d{3}) /g;

/** Opens sockets that misbehave and leaves them to the server. */
export class RoughSockets {
	readonly #port: number;
	readonly #onStatus: (status: number, way: RoughWay, heard: string) => void;
	readonly #open = new Set<Socket>();
	/** Bytes that are still to be sent, one now and then. */
	readonly #drips = new Map<Socket, Buffer>();
	readonly #streams = new Set<Socket>();

	constructor(port: number, onStatus: (status: number, way: RoughWay, heard: string) => void) {
		this.#port = port;
		this.#onStatus = onStatus;
		setInterval(() => this.#drip(), DRIP_MS);
	}

	/** Streams to which little is sent are held by honest readers too, for as long as they like. */
	leaveStreams(): void {
		for (const socket of this.#streams) socket.destroy();
	}

	attack(way: RoughWay, request: Request, random: Random): void {
		const isReader = !way.startsWith("never reads");
		const socket = connect({ port: this.#port, host: "127.0.0.1", allowHalfOpen: true });
		this.#open.add(socket);
		socket.on("error", () => {});
		socket.once("close", () => {
			this.#open.delete(socket);
			this.#drips.delete(socket);
			this.#streams.delete(socket);
		});
		if (isReader) {
			socket.on("data", (chunk) => {
				const heard = chunk.toString("latin1");
				for (const [, status] of heard.matchAll(STATUS)) this.#onStatus(Number(status), way, heard);
			});
			socket.once("end", () => this.#drips.delete(socket));
		} else socket.pause();
		const [oldest] = this.#open;
		if (this.#open.size > MOST) oldest?.destroy();
		socket.once("connect", () => this.#send(socket, way, request, random));
	}

	#send(socket: Socket, way: RoughWay, request: Request, random: Random): void {
		const { authorization = "Bearer none" } = request.headers;
		const body = request.body ?? "{}";
		const head = (method: string, path: string, more = "") =>
			`${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\n${more}\r\n`;
		const post = (more: string) => head("POST", request.method === "POST" ? request.path : "/v1/executions", more);
		switch (way) {
			case "says nothing":
				break;
			case "sends half a head and closes its end":
				socket.end(post("").slice(0, random.integer(1, 60)));
				break;
			case "sends its head byte by byte":
				this.#drips.set(socket, Buffer.from(post("Content-Length: 2\r\n")));
				break;
			case "sends its body byte by byte":
				socket.write(post("Content-Length: 60000\r\n"));
				this.#drips.set(socket, Buffer.alloc(60_000, " "));
				break;
			case "sends a chunked body without end":
				socket.write(`${post("Transfer-Encoding: chunked\r\n")}2\r\n{"\r\n`);
				this.#drips.set(socket, Buffer.from("1\r\nk\r\n".repeat(10_000)));
				break;
			case "closes its end behind the request":
				socket.end(`${post(`Content-Length: ${Buffer.byteLength(body)}\r\n`)}${body}`);
				break;
			case "never reads its answers":
				socket.write(head("GET", random.pick(LONG_READS)).repeat(random.integer(1, 50)));
				break;
			case "never reads an event stream":
				this.#streams.add(socket);
				socket.write(head("GET", "/v1/events?cursor=start", "Accept: text/event-stream\r\n"));
				break;
			case "waits and goes away": {
				const claim = `{"workerId":"w","instanceId":"gone","lanes":["default","other"],"waitMs":20000}`;
				socket.write(`${head("POST", "/v1/claims", `Content-Length: ${claim.length}\r\n`)}${claim}`);
				setTimeout(() => socket.destroy(), random.integer(0, 500));
				break;
			}
			case "sends a hundred requests at once":
				socket.write(head(request.method === "GET" ? "GET" : "DELETE", request.path).repeat(100));
				break;
			case "sends a body of another length":
				socket.write(`${post(`Content-Length: ${random.pick(["1", "-5", "1e9", "99999999999", "0x10"])}\r\n`)}${body}`);
				break;
			case "sends two lengths":
				socket.write(
					`${post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")}0\r\n\r\n${head("GET", "/metrics")}`,
				);
				break;
			case "sends a head that is too long":
				socket.write(post(`X-Long: ${"x".repeat(random.pick([15_000, 17_000, 200_000]))}\r\n`));
				break;
			case "speaks no HTTP":
				socket.write(Buffer.from(random.hex(random.integer(1, 2000)), "hex"));
		}
	}

	#drip(): void {
		for (const [socket, bytes] of this.#drips) {
			if (!socket.writable) this.#drips.delete(socket);
			else {
				socket.write(bytes.subarray(0, 1));
				this.#drips.set(socket, bytes.subarray(1));
			}
		}
	}
}

const LONG_READS = [
	"/v1/executions?limit=1000",
	"/v1/events?cursor=start&limit=1000",
	"/v1/workers?limit=1000",
	"/openapi.json",
];
