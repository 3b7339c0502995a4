import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { type ConnectOptions, FlowFabric } from "../../src/index.ts";
import { openBackend } from "../../src/library/open.ts";
import type { Role } from "../../src/server/access.ts";
import { makeLog } from "../../src/server/log.ts";
import type { RunningServer, ServerOptions, TokenEntry } from "../../src/server/options.ts";
import { serveEngine } from "../../src/server/server.ts";

export const tokenOf = (name: string): string => `secret-token-of-${name}`;

export const entry = (name: string, role: Role, namespace?: string): TokenEntry => ({
	name,
	role,
	...(namespace === undefined ? undefined : { namespace }),
	hash: createHash("sha256").update(tokenOf(name)).digest("hex"),
});

export interface Reply {
	status: number;
	headers: Headers;
	text: string;
	// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
	json: any;
}

/** A server on memory for one test, and ways to speak to it below and above the client. */
export class Stand {
	readonly backend: LocalBackend;
	readonly server: RunningServer;
	/** Lines of its log, as objects. */
	readonly log: Record<string, unknown>[];

	private constructor(backend: LocalBackend, server: RunningServer, log: Record<string, unknown>[]) {
		this.backend = backend;
		this.server = server;
		this.log = log;
	}

	static async open(options: Partial<ServerOptions> = {}): Promise<Stand> {
		const backend = await openBackend("memory:", {});
		const log: Record<string, unknown>[] = [];
		const server = await serveEngine({
			engine: backend.engine,
			backendFor: (caller) => backend.as(caller),
			port: 0,
			docs: false,
			log: makeLog({ level: "debug", write: (line) => void log.push(JSON.parse(line)) }),
			...options,
		});
		onTestFinished(async () => {
			await server.close();
			await backend.close();
		});
		return new Stand(backend, server, log);
	}

	connect(options: ConnectOptions = {}): FlowFabric {
		const ff = FlowFabric.connect(this.server.address, options);
		onTestFinished(() => ff.close());
		return ff;
	}

	async call(method: string, path: string, options: { body?: unknown; token?: string; headers?: object } = {}) {
		const { body, token, headers } = options;
		const response = await fetch(this.server.address + path, {
			method,
			headers: {
				...(body === undefined ? undefined : { "content-type": "application/json" }),
				...(token === undefined ? undefined : { authorization: `Bearer ${token}` }),
				...headers,
			},
			...(body === undefined ? undefined : { body: typeof body === "string" ? body : JSON.stringify(body) }),
		});
		const text = await response.text();
		const reply: Reply = { status: response.status, headers: response.headers, text, json: undefined };
		if (response.headers.get("content-type")?.startsWith("application/json")) reply.json = JSON.parse(text);
		return reply;
	}

	/** A connection of bare bytes. */
	socket(): { socket: Socket; heard: () => string; closed: Promise<void> } {
		const socket = connect(this.server.port, "127.0.0.1");
		let heard = "";
		socket.on("data", (chunk) => (heard += chunk.toString()));
		socket.on("error", () => {});
		const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
		onTestFinished(() => void socket.destroy());
		return { socket, heard: () => heard, closed };
	}

	/** Some work, and the fence of whoever holds it. */
	async held(): Promise<{ id: string; fence: { leaseId: string; epoch: number } }> {
		const { id } = await this.backend.executions.create({ kind: "job" });
		const [claimed] = await this.backend.leases.claim({ workerId: "w", instanceId: "w-1" });
		if (claimed?.id !== id) throw new Error("something else was claimed");
		return { id, fence: { leaseId: claimed.lease.id, epoch: claimed.lease.epoch } };
	}
}

/** Waits for something that is about to happen, without a clock of its own. */
export async function until<T>(look: () => T | Promise<T>): Promise<NonNullable<T>> {
	for (;;) {
		const found = await look();
		if (found) return found as NonNullable<T>;
		await new Promise((resolve) => setImmediate(resolve));
	}
}
