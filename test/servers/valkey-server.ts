import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Redis } from "iovalkey";

/** A server that keeps nothing, for tests and benchmarks. */
export interface ValkeyServer {
	url: string;
	stop(): Promise<void>;
}

const START_TIMEOUT_MS = 10_000;

/** The server ends when nobody holds the other end of its guardian's input: a test run that is killed leaves none behind. */
const GUARDIAN = '"$0" "$@" & server=$!; cat > /dev/null; kill "$server"; wait "$server"';

/** Where tests find a server: one that runs already, or a program to start. */
function whereValkeyIs(): { url: string } | { path: string } | undefined {
	const url = process.env.FF_TEST_VALKEY_URL;
	if (url) return { url };
	for (const name of ["valkey-server", "redis-server"]) {
		for (const folder of (process.env.PATH ?? "").split(delimiter)) {
			const path = join(folder, name);
			if (isExecutable(path)) return { path };
		}
	}
	return undefined;
}

/** Whether tests can have a server. Without one they say so; a build server must have one. */
export function hasValkey(): boolean {
	if (whereValkeyIs()) return true;
	const missing = "neither valkey-server nor redis-server was found, nor is FF_TEST_VALKEY_URL set";
	if (process.env.CI === "true") throw new Error(`${missing}: tests of the Valkey store cannot be left out here`);
	console.warn(`\n*** SKIPPED: every test of the Valkey store: ${missing} ***\n`);
	return false;
}

/** Starts a private server on a free port, or uses the one tests are pointed to. */
export async function startValkey(): Promise<ValkeyServer> {
	const found = whereValkeyIs();
	if (!found) throw new Error("neither valkey-server nor redis-server is on this machine");
	if ("url" in found) return { url: found.url, stop: async () => {} };
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-valkey-"));
	const port = await freePort();
	const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
	const guardian = spawn("sh", ["-c", GUARDIAN, found.path, ...args], { stdio: ["pipe", "ignore", "ignore"] });
	guardian.unref();
	const stop = async () => {
		await ended(guardian);
		await rm(folder, { recursive: true, force: true });
	};
	try {
		await answering(port);
	} catch (error) {
		await stop();
		throw error;
	}
	return { url: `redis://127.0.0.1:${port}`, stop };
}

let shared: Promise<ValkeyServer> | undefined;

/** One server for all tests of this process; it ends with the process. */
export async function sharedValkey(): Promise<ValkeyServer> {
	shared ??= startValkey();
	return shared;
}

/** Takes away every key that starts so; a server tests are pointed to may be used by others too. */
export async function dropKeys(url: string, prefix: string): Promise<void> {
	const client = new Redis(url);
	let cursor = "0";
	do {
		const [next, keys] = await client.scan(cursor, "MATCH", `${prefix}*`, "COUNT", 1000);
		if (keys.length > 0) await client.unlink(...keys);
		cursor = next;
	} while (cursor !== "0");
	client.disconnect();
}

function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

function freePort(): Promise<number> {
	return new Promise((resolve, reject) => {
		const probe = createServer().once("error", reject);
		probe.listen(0, "127.0.0.1", () => {
			const address = probe.address();
			const port = address && typeof address === "object" ? address.port : 0;
			probe.close(() => resolve(port));
		});
	});
}

async function answering(port: number): Promise<void> {
	const deadline = Date.now() + START_TIMEOUT_MS;
	while (!(await answers(port))) {
		if (Date.now() > deadline) throw new Error(`the server does not answer on port ${port}`);
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

function answers(port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
		socket.once("data", (data) => {
			socket.destroy();
			resolve(data.toString().startsWith("+PONG"));
		});
		socket.once("error", () => resolve(false));
	});
}

function ended(guardian: ChildProcess): Promise<void> {
	if (guardian.exitCode !== null || guardian.signalCode !== null) return Promise.resolve();
	return new Promise((resolve) => {
		guardian.once("exit", () => resolve());
		guardian.ref();
		guardian.stdin?.end();
	});
}
