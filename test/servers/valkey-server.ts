import { type ChildProcess, spawn } from "node:child_process";
import { randomInt, randomUUID } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Redis } from "iovalkey";

/** A private server for tests and benchmarks; it keeps nothing unless told to. */
export interface ValkeyServer {
	url: string;
	stop(): Promise<void>;
}

/** A server's process, on a port and with a folder of its own. */
export interface ServerProcess {
	port: number;
	/** Of the server itself, to be stopped, continued or killed. */
	pid: number;
	/** Ends it as an operator would; its folder stays. */
	end(): Promise<void>;
}

export interface LaunchOptions {
	folder: string;
	/** A free one when left out. */
	port?: number;
	/** As in `--appendonly`, `yes`. */
	settings?: readonly string[];
}

const START_TIMEOUT_MS = 10_000;
const ANSWER_TIMEOUT_MS = 2000;
const FIRST_PORT = 10_000;
const FIRST_EPHEMERAL_PORT = 32_768;

/** The server ends when nobody holds the other end of its guardian's input: a test run that is killed leaves none behind. */
const GUARDIAN = '"$0" "$@" & server=$!; cat > /dev/null; kill "$server"; wait "$server"';

/** The program to start. */
function serverPath(): string | undefined {
	for (const name of ["valkey-server", "redis-server"]) {
		for (const folder of (process.env.PATH ?? "").split(delimiter)) {
			const path = join(folder, name);
			if (isExecutable(path)) return path;
		}
	}
	return undefined;
}

/** Whether tests can have a server. Without one they say so; a build server must have one. */
export function hasValkey(): boolean {
	if (process.env.FF_TEST_VALKEY_URL || serverPath()) return true;
	const missing = "neither valkey-server nor redis-server was found, nor is FF_TEST_VALKEY_URL set";
	if (process.env.CI === "true") throw new Error(`${missing}: tests of the Valkey store cannot be left out here`);
	console.warn(`\n*** SKIPPED: every test of the Valkey store: ${missing} ***\n`);
	return false;
}

/** Starts a private server on a free port, or uses the one tests are pointed to. */
export async function startValkey(settings: readonly string[] = []): Promise<ValkeyServer> {
	const url = process.env.FF_TEST_VALKEY_URL;
	if (url && settings.length === 0) return { url, stop: async () => {} };
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-valkey-"));
	const server = await launch({ folder, settings });
	return {
		url: `redis://127.0.0.1:${server.port}`,
		async stop() {
			await server.end();
			await rm(folder, { recursive: true, force: true });
		},
	};
}

/** Starts a server's process and waits until it answers. */
export async function launch({ folder, port, settings = [] }: LaunchOptions): Promise<ServerProcess> {
	const path = serverPath();
	if (!path) throw new Error("neither valkey-server nor redis-server is on this machine");
	const at = port ?? (await freePort());
	const args = ["--port", String(at), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
	const guardian = spawn("sh", ["-c", GUARDIAN, path, ...args, ...settings], { stdio: ["pipe", "ignore", "ignore"] });
	guardian.unref();
	try {
		return { port: at, pid: await answering(at), end: () => ended(guardian) };
	} catch (error) {
		await ended(guardian);
		throw error;
	}
}

let shared: Promise<ValkeyServer> | undefined;

/** One server for all tests of this process; it ends with the process. */
export async function sharedValkey(): Promise<ValkeyServer> {
	shared ??= startValkey();
	return shared;
}

/** Where tests can have stores: a server, or a cluster with its primaries. */
export interface StoreHost {
	url: string;
	primaries?: readonly { url: string }[];
}

/** The URL of a new, empty store on a server, whoever else uses it. What is left there slows every later scan down. */
export function ownStore({ url: host, primaries = [{ url: host }] }: StoreHost): {
	url: string;
	drop(): Promise<void>;
} {
	const prefix = `test-${randomUUID()}`;
	return {
		url: `${host}${host.includes("?") ? "&" : "?"}prefix=${prefix}`,
		async drop() {
			for (const { url } of primaries) await dropKeys(url, prefix);
		},
	};
}

async function dropKeys(url: string, prefix: string): Promise<void> {
	const client = new Redis(url.replace(/^valkey/, "redis"));
	let cursor = "0";
	do {
		const [next, keys] = await client.scan(cursor, "MATCH", `${prefix}*`, "COUNT", 1000);
		// One by one: a call to a cluster names keys of one slot only.
		await client.pipeline(keys.map((key) => ["unlink", key])).exec();
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

/**
 * A port nobody listens on. Not one the system gives to whoever asks for any: those go to outgoing connections too, and a
 * server that is started again on its port would now and then find it taken. Nor one that was given out before: whoever
 * has it may not listen yet.
 */
export async function freePort(): Promise<number> {
	for (;;) {
		const port = randomInt(FIRST_PORT, FIRST_EPHEMERAL_PORT);
		if (givenOut.has(port)) continue;
		givenOut.add(port);
		if (await isFree(port)) return port;
	}
}

const givenOut = new Set<number>();

function isFree(port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const probe = createServer().once("error", () => resolve(false));
		probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
	});
}

/** Waits until the server answers; gives its process id. */
async function answering(port: number): Promise<number> {
	const deadline = Date.now() + START_TIMEOUT_MS;
	for (;;) {
		const pid = await processAt(port);
		if (pid !== undefined) return pid;
		if (Date.now() > deadline) throw new Error(`the server does not answer on port ${port}`);
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

/** The server's process id; undefined when nobody is there, or somebody else, who may say nothing at all. */
function processAt(port: number): Promise<number | undefined> {
	return new Promise((resolve) => {
		let told = "";
		const socket = connect(port, "127.0.0.1", () => socket.write("INFO server\r\n"));
		socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy());
		socket.once("close", () => resolve(undefined));
		socket.on("data", (data) => {
			told += data.toString();
			const [, pid] = /process_id:(\d+)/.exec(told) ?? [];
			if (pid === undefined && !told.startsWith("-")) return;
			resolve(pid === undefined ? undefined : Number(pid));
			socket.destroy();
		});
		// It is closed then.
		socket.once("error", () => {});
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
