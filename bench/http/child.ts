import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** What a server has used so far, and holds now. */
export interface ServerUsage {
	cpuMicros: number;
	/** Commits that brought bytes of their own. */
	blobCommits: number;
	/** In the heap and beside it; 0 unless it was asked for. */
	liveBytes: number;
	residentBytes: number;
}

/** A server in a process of its own. */
export class Child {
	readonly address: string;
	readonly #process: ChildProcess;

	private constructor(process: ChildProcess, address: string) {
		this.#process = process;
		this.address = address;
	}

	static async start(program: "child-server" | "child-bare", args: readonly string[]): Promise<Child> {
		const path = fileURLToPath(new URL(`./${program}.js`, import.meta.url));
		const child = fork(path, args, { execArgv: [...process.execArgv, "--expose-gc"] });
		const [{ address }] = (await once(child, "message")) as [{ address: string }];
		return new Child(child, address);
	}

	/** Microseconds of CPU it has used so far. */
	async cpuMicros(): Promise<number> {
		return (await this.usage()).cpuMicros;
	}

	usage(): Promise<ServerUsage> {
		return this.#ask("usage");
	}

	/** The same after it has looked for memory that nobody holds. */
	usageWithoutGarbage(): Promise<ServerUsage> {
		return this.#ask("memory");
	}

	async stop(): Promise<void> {
		this.#process.send("close");
		await once(this.#process, "exit");
	}

	async #ask(question: "usage" | "memory"): Promise<ServerUsage> {
		this.#process.send(question);
		const [{ usage }] = (await once(this.#process, "message")) as [{ usage: ServerUsage }];
		return usage;
	}
}
