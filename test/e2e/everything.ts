import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { freePort } from "../servers/valkey-server.ts";
import { type Audited, audit } from "./everything-audit.ts";
import { ledgerOf } from "./everything-ledger.ts";
import { Program } from "./processes.ts";

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

export interface EverythingOptions {
	/** Of the store. */
	url: string;
	workers?: number;
	leaseMs?: number;
}

/** A server, workers and an asker, each a process, that use every feature at once while a test does them harm. */
export class Everything {
	readonly url: string;
	/** Where the next server, and `doctor`, look. */
	store: string;
	readonly #leaseMs: number;
	readonly #started: Program[] = [];
	server!: Program;
	asker!: Program;
	readonly workers: Program[] = [];

	private constructor(port: number, { url, leaseMs = 1000 }: EverythingOptions) {
		this.url = `http://127.0.0.1:${port}`;
		this.store = url;
		this.#leaseMs = leaseMs;
	}

	static async start(options: EverythingOptions): Promise<Everything> {
		const all = new Everything(await freePort(), options);
		await all.serve();
		for (let n = 0; n < (options.workers ?? 2); n++) all.recruit();
		await Promise.all(all.workers.map((worker) => worker.says(/^ready$/m)));
		await all.ask("a");
		return all;
	}

	/** Starts an asker; resolves when work flows. */
	async ask(name: string): Promise<void> {
		this.asker = this.#run("./programs/everything-asker.mjs", this.url, name);
		await this.asker.says(/^ready$/m);
		await this.flows();
	}

	/** Starts the server; resolves when it listens. */
	async serve(): Promise<void> {
		const listen = this.url.slice("http://".length);
		this.server = this.#run("../../dist/cli/main.js", "serve", "--store", this.store, "--listen", listen);
		await this.server.says(/127\.0\.0\.1:\d+/);
	}

	recruit(): void {
		this.workers.push(this.#run("./programs/everything-worker.mjs", this.url, String(this.#leaseMs)));
	}

	/** Resolves when so many more have ended, and every worker that is asked about has run something. */
	async flows(ended = 10, workers: readonly Program[] = this.workers): Promise<void> {
		const { asker } = this;
		const marks = workers.map((worker) => ({ worker, from: worker.out.length }));
		await asker.saysBehind(asker.out.length, new RegExp(`(?:^ended .*\\n[^]*?){${ended}}`, "m"));
		for (const { worker, from } of marks) await worker.saysBehind(from, /^ran .*\n/m);
	}

	/** Lets all that was begun come to its end, and compares it with what was acknowledged. */
	async settle(): Promise<Audited> {
		this.asker.child.kill("SIGTERM");
		await this.asker.says(/^settled$/m);
		expect(await this.asker.ended()).toBe(0);
		return this.audit([this.asker]);
	}

	/** Compares what was acknowledged to these askers, and to all workers, with what is there. */
	async audit(askers: readonly Program[]): Promise<Audited> {
		const workers = this.#started.filter(({ out }) => /^ran /m.test(out));
		const ff = FlowFabric.connect(this.url);
		const audited = await audit(ff, ledgerOf([...askers, ...workers].map(({ out }) => out)));
		await ff.close();
		return audited;
	}

	/** Runs the command line to its end. */
	async cli(...args: string[]): Promise<{ code: unknown; out: string }> {
		const program = this.#run("../../dist/cli/main.js", ...args);
		return { code: await program.ended(), out: program.out + program.err };
	}

	/** Stops everything as an operator would. */
	async stop(): Promise<void> {
		await Promise.all(this.workers.map((worker) => worker.stop("SIGTERM")));
		expect(await this.server.stop("SIGTERM")).toBe(0);
	}

	/** What `doctor` says of the store that nobody uses any more, and its exit code. */
	async doctor(): Promise<{ code: unknown; out: string }> {
		return this.cli("doctor", "--store", this.store);
	}

	/** Whatever happened, nothing outlives the test. */
	async end(): Promise<void> {
		await Promise.all(this.#started.map((program) => program.stop("SIGKILL")));
	}

	#run(file: string, ...args: string[]): Program {
		const program = new Program(process.execPath, [pathOf(file), ...args]);
		this.#started.push(program);
		return program;
	}
}
