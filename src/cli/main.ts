#!/usr/bin/env node
import { runCommandLine } from "./program.ts";

const STOP_SIGNALS = ["SIGINT", "SIGTERM"] as const;
const LINGER_MS = 500;

/** Caught once: the second signal finds nobody in its way and ends the process. */
function onStop(listener: () => void): () => void {
	const release = () => {
		for (const signal of STOP_SIGNALS) process.off(signal, received);
	};
	const received = () => {
		release();
		listener();
	};
	for (const signal of STOP_SIGNALS) process.on(signal, received);
	return release;
}

// A reader that has seen enough (`flowfabric list --all | head`) is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
	if (error.code === "EPIPE") process.exit(0);
	throw error;
});

process.exitCode = await runCommandLine(process.argv.slice(2), {
	stdout: process.stdout,
	stderr: process.stderr,
	stdin: process.stdin,
	env: process.env,
	onStop,
});

// Whatever still holds the process had its time to close.
setTimeout(() => process.exit(), LINGER_MS).unref();
