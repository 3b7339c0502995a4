#!/usr/bin/env node
import module from "node:module";
import { VERSION } from "../server/version.ts";

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

const args = process.argv.slice(2);
if (args.length === 1 && (args[0] === "--version" || args[0] === "-V")) {
	// Asked by scripts, and often: no command has to be loaded for it.
	process.stdout.write(`${VERSION}\n`);
} else {
	// Node keeps compiled code for the next time, from 22.8 on.
	(module as { enableCompileCache?: () => unknown }).enableCompileCache?.();
	const { runCommandLine } = await import("./program.ts");
	process.exitCode = await runCommandLine(args, {
		stdout: process.stdout,
		stderr: process.stderr,
		stdin: process.stdin,
		env: process.env,
		onStop,
	});
}

// Whatever still holds the process had its time to close.
setTimeout(() => process.exit(), LINGER_MS).unref();
