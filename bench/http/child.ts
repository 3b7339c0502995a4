import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A server in a process of its own. */
export class Child {
	readonly address: string;
	readonly #process: ChildProcess;

	private constructor(process: ChildProcess, address: string) {
		this.#process = process;
		this.address = address;
	}

	static async start(program: "child-server" | "child-bare", args: readonly string[]): Promise<Child> {
		const child = fork(fileURLToPath(new URL(`./${program}.js`, import.meta.url)), args);
		const [{ address }] = (await once(child, "message")) as [{ address: string }];
		return new Child(child, address);
	}

	/** Microseconds of CPU it has used so far. */
	async cpuMicros(): Promise<number> {
		this.#process.send("usage");
		const [{ usage }] = (await once(this.#process, "message")) as [{ usage: NodeJS.CpuUsage }];
		return usage.user + usage.system;
	}

	async stop(): Promise<void> {
		this.#process.send("close");
		await once(this.#process, "exit");
	}
}
