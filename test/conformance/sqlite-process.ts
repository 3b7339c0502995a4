import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { format } from "./stores.ts";
import { put } from "./trial.ts";

/**
 * Another process that opens a store: `startProcess` is for the tests, the rest runs in the process itself. It prints
 * "opened" or the code of the refusal, then writes for as long as it lives, printing every key once it is committed.
 */
export interface StoreProcess {
	/** The next line it prints; undefined once it has ended. */
	nextLine(): Promise<string | undefined>;
	/** `kill -9`, and waits for the end. */
	kill(): Promise<void>;
}

/** With `unprivileged`, a process that file permissions hold for, also where the tests run as root. */
export function startProcess(path: string, { unprivileged = false } = {}): StoreProcess {
	const nobody = unprivileged && process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
	const child = spawn(process.execPath, ["--import", "tsx", fileURLToPath(import.meta.url), path], {
		stdio: ["ignore", "pipe", "inherit"],
		...nobody,
	});
	const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
	return {
		async nextLine() {
			const { value, done } = await lines.next();
			return done ? undefined : value;
		},
		kill: () => killAndWait(child),
	};
}

async function killAndWait(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const ended = new Promise((resolve) => child.once("exit", resolve));
	child.kill("SIGKILL");
	await ended;
}

async function writeForever(path: string): Promise<void> {
	const store = await openSqliteStore(path, { format, testClock: () => 1 }).catch((error) => {
		console.log(error.code);
		process.exit(0);
	});
	console.log("opened");
	for (let number = 1; ; number++) {
		const key = `key-${number}`;
		const { results } = await store.commit(0, { engine: "child", number, at: 1, units: [put(key, "x".repeat(2000))] });
		if (results[0]?.ok) console.log(key);
	}
}

const [script, path] = process.argv.slice(1);
if (script === fileURLToPath(import.meta.url) && path) await writeForever(path);
