import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** What an engine has handled since it last said so, and when the latest of that was; by the clock all processes share. */
export interface Progress {
	done: number;
	at: number;
}

/** Milliseconds by a clock that all processes share. */
export const sharedNow = (): number => Number(process.hrtime.bigint()) / 1e6;

/** An engine in a process of its own: it is asked one thing at a time, and may tell of its progress in between. */
export class Child {
	readonly #process: ChildProcess;
	#answered: (answer: unknown) => void = () => {};
	#failed: (error: Error) => void = () => {};

	private constructor(process: ChildProcess, onProgress: (progress: Progress) => void) {
		this.#process = process;
		process.on("message", (message: { answer?: unknown; progress?: Progress }) => {
			if (message.progress) onProgress(message.progress);
			else this.#answered(message.answer);
		});
		process.on("exit", (code) => this.#failed(new Error(`a process of the benchmark ended with ${code}`)));
	}

	static async start(
		program: "child-engine" | "child-hot",
		args: readonly string[],
		onProgress: (progress: Progress) => void = () => {},
	): Promise<Child> {
		const child = new Child(fork(fileURLToPath(new URL(`./${program}.js`, import.meta.url)), args), onProgress);
		await child.#answer();
		return child;
	}

	ask<T>(question: string, given?: unknown): Promise<T> {
		const answer = this.#answer();
		this.#process.send({ question, given });
		return answer as Promise<T>;
	}

	/** Asks for something to which there is no answer. */
	tell(question: string, given?: unknown): void {
		this.#process.send({ question, given });
	}

	async stop(): Promise<void> {
		this.#failed = () => {};
		this.#process.send({ question: "close" });
		await once(this.#process, "exit");
	}

	#answer(): Promise<unknown> {
		return new Promise((resolve, reject) => {
			this.#answered = resolve;
			this.#failed = reject;
		});
	}
}

/** The other end: says that it is there, then answers what it is asked. */
export function answer(questions: Record<string, (given: never) => Promise<unknown> | undefined>): void {
	process.on("message", async ({ question, given }: { question: string; given: never }) => {
		const answering = questions[question]?.(given);
		if (!answering) return;
		const answered = await answering;
		if (question === "close") process.disconnect();
		else process.send?.({ answer: answered });
	});
	process.send?.({ answer: "ready" });
}
