import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { StoreError, StoreOpenError } from "../port.ts";
import type { Answer, Given, Question, Refusal, Replied, Request } from "./messages.ts";

/** Always the built program, also where the rest runs as TypeScript, as in tests: a thread can run nothing else. */
const PROGRAM = createRequire(import.meta.url).resolve("#sqlite-thread");

interface Waiting {
	resolve(value: unknown): void;
	reject(error: unknown): void;
}

let running: SqliteThread | undefined;

/** One thread serves all files of a process; it starts with the first. */
export function sqliteThread(): SqliteThread {
	if (!running || running.ended) running = new SqliteThread();
	return running;
}

/**
 * The way to the thread that SQLite runs on. Questions of one turn of the loop go over together, at the latest with the
 * next commit, and are answered in any order.
 */
export class SqliteThread {
	readonly #worker: Worker;
	readonly #waiting = new Map<number, Waiting>();
	#outgoing: Request[] = [];
	#asked = 0;
	#ended: Error | undefined;

	constructor(program = PROGRAM) {
		this.#worker = new Worker(program, { name: "flowfabric-sqlite", execArgv: [] });
		// A thread with nothing to do keeps no program from ending.
		this.#worker.unref();
		this.#worker.on("message", (answers: Answer[]) => this.#hear(answers));
		this.#worker.on("error", (error) => this.#end(error));
		this.#worker.on("exit", () => this.#end(new Error("the thread of the SQLite store has ended")));
	}

	get ended(): boolean {
		return this.#ended !== undefined;
	}

	ask<Q extends Question>(question: Q, file: number, time: number, ...given: Given<Q>): Promise<Replied<Q>> {
		if (this.#ended) return Promise.reject(new StoreError(this.#ended.message, { applied: "no", passing: false }));
		return new Promise((resolve, reject) => {
			this.#asked += 1;
			if (this.#waiting.size === 0) this.#worker.ref();
			this.#waiting.set(this.#asked, { resolve: resolve as (value: unknown) => void, reject });
			this.#outgoing.push([this.#asked, file, time, question, given]);
			// Many may ask in one turn of the loop, each by itself; a message costs more than what is asked. Commits and reads
			// have been gathered before they come here.
			if (question === "commit" || question === "read") queueMicrotask(() => this.#send());
			else if (this.#outgoing.length === 1) setImmediate(() => this.#send());
		});
	}

	#send(): void {
		const requests = this.#outgoing;
		this.#outgoing = [];
		if (requests.length > 0 && !this.#ended) this.#worker.postMessage(requests);
	}

	#hear(answers: Answer[]): void {
		for (const [id, value, refused] of answers) {
			const waiting = this.#waiting.get(id);
			this.#waiting.delete(id);
			if (refused) waiting?.reject(errorOf(refused));
			else waiting?.resolve(value);
		}
		if (this.#waiting.size === 0) this.#worker.unref();
	}

	/** What was on its way may have been written or not. */
	#end(error: Error): void {
		if (this.#ended) return;
		this.#ended = error;
		const failure = new StoreError(error.message, { applied: "unknown", passing: false, cause: error });
		for (const { reject } of this.#waiting.values()) reject(failure);
		this.#waiting.clear();
	}
}

function errorOf({ message, damaged, code, details }: Refusal): Error {
	if (code) return new StoreOpenError(code, message, details);
	return new StoreError(message, { applied: "no", ...(damaged ? { code: "store_corrupt" } : undefined) });
}
