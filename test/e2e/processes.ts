import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

export interface SpawnOptions {
	cwd?: string;
	env?: Record<string, string>;
}

/** A program of ours in a process of its own, heard as it speaks. */
export class Program {
	readonly child: ChildProcess;
	out = "";
	err = "";
	#heard = () => {};

	constructor(command: string, args: readonly string[], { cwd, env = {} }: SpawnOptions = {}) {
		this.child = spawn(command, args, {
			...(cwd === undefined ? undefined : { cwd }),
			env: { ...withoutSettings(process.env), NO_COLOR: "1", ...env },
			stdio: ["ignore", "pipe", "pipe"],
		});
		this.child.stdout?.on("data", (chunk: Buffer) => {
			this.out += chunk.toString();
			this.#heard();
		});
		this.child.stderr?.on("data", (chunk: Buffer) => {
			this.err += chunk.toString();
			this.#heard();
		});
		this.child.on("exit", () => this.#heard());
	}

	/** What it says that fits, as soon as it has said so; fails when it ends without. */
	async says(pattern: RegExp): Promise<RegExpExecArray> {
		return this.saysBehind(0, pattern);
	}

	/** The same, of what its output says behind a place. */
	async saysBehind(from: number, pattern: RegExp): Promise<RegExpExecArray> {
		for (;;) {
			const match = pattern.exec(this.out.slice(from)) ?? pattern.exec(this.err);
			if (match) return match;
			if (this.child.exitCode !== null || this.child.signalCode !== null)
				throw new Error(
					`it ended with ${this.child.exitCode ?? this.child.signalCode} and said\n${this.out}${this.err}`,
				);
			await new Promise<void>((resolve) => (this.#heard = resolve));
		}
	}

	/** Its exit code, or the signal that ended it. */
	async ended(): Promise<number | string | null> {
		const { child } = this;
		if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
		return child.exitCode ?? child.signalCode;
	}

	/** Sends a signal and waits for the end. */
	async stop(signal: NodeJS.Signals = "SIGINT"): Promise<number | string | null> {
		this.child.kill(signal);
		return this.ended();
	}
}

/** Settings of whoever runs the tests must not reach the programs under test. */
function withoutSettings(env: NodeJS.ProcessEnv): Record<string, string> {
	const kept = Object.entries(env).filter(([name, value]) => !name.startsWith("FF_") && value !== undefined);
	return Object.fromEntries(kept) as Record<string, string>;
}
