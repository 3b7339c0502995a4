import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** One of the programs of this folder, built, in a process of its own; they speak by messages. */
export class Child {
	readonly #child: ChildProcess;
	#ending: string | undefined;
	#stderr = "";
	readonly #listeners = new Set<(message: unknown) => void>();
	/** Told of the end, whoever waits for an answer. */
	readonly #onEnd = new Set<() => void>();

	constructor(name: string, order: object, execArgv: string[] = []) {
		const path = fileURLToPath(new URL(`../../../.build/test/server/abuse/${name}.js`, import.meta.url));
		this.#child = fork(path, [JSON.stringify(order)], { execArgv, stdio: ["ignore", "ignore", "pipe", "ipc"] });
		this.#child.stderr?.on("data", (chunk: Buffer) => (this.#stderr = (this.#stderr + chunk.toString()).slice(-4000)));
		this.#child.on("message", (message) => {
			for (const listener of [...this.#listeners]) listener(message);
		});
		this.#child.once("exit", (code, signal) => {
			this.#ending = `${name} ended with ${code ?? signal}: ${this.#stderr}`;
			for (const tell of this.#onEnd) tell();
		});
	}

	/** How it ended, if it has. */
	get ending(): string | undefined {
		return this.#ending;
	}

	/** Every message from now on. */
	hear(listener: (message: never) => void): void {
		this.#listeners.add(listener as (message: unknown) => void);
	}

	/** Sends something, if there is something to send, and gives what fits of what comes. */
	ask<T>(message: object | string | undefined, pick: (answer: never) => T | undefined): Promise<T> {
		return new Promise((resolve, reject) => {
			const over = () => {
				this.#listeners.delete(look);
				this.#onEnd.delete(failed);
			};
			const failed = () => {
				over();
				reject(new Error(this.#ending));
			};
			const look = (answer: unknown) => {
				const picked = pick(answer as never);
				if (picked === undefined) return;
				over();
				resolve(picked);
			};
			if (this.#ending !== undefined) return failed();
			this.#listeners.add(look);
			this.#onEnd.add(failed);
			if (message !== undefined) this.#child.send(message);
		});
	}

	/** Tells it to end, and waits for that. */
	async end(message: object | string): Promise<void> {
		if (this.#ending !== undefined) return;
		const ended = new Promise<void>((resolve) => this.#onEnd.add(resolve));
		this.#child.send(message);
		await ended;
	}

	kill(): void {
		if (this.#ending === undefined) this.#child.kill("SIGKILL");
	}
}
