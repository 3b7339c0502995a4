import { setTimeout as sleep } from "node:timers/promises";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import { FlowFabric, FlowFabricError, RetryAfter, type WorkerOptions } from "../../src/index.ts";

const ENGINES = 2;
const SUBMITTERS = 4;
const KINDS = ["plain", "flaky", "slow"];
const PATIENCE_MS = 60_000;

/** What came of all that was acknowledged. */
export interface Audit {
	acknowledged: number;
	lost: string[];
	doubled: string[];
	stuck: string[];
}

/**
 * Engines of this process with submitters and workers, on one store, as on several machines. It keeps a journal of every
 * submission that was acknowledged; `audit` looks each of them up once everything has ended.
 */
export class Load {
	readonly acknowledged: string[] = [];
	/** Submissions that were refused or whose answer was lost; those with a key are tried until they are known. */
	failures = 0;
	finished = 0;
	readonly faults: string[] = [];
	readonly #opened: FlowFabric[];
	readonly #stopping = new AbortController();
	readonly #submitters: Promise<void>[];

	private constructor(opened: FlowFabric[]) {
		this.#opened = opened;
		this.#submitters = opened.flatMap((ff, engine) =>
			Array.from({ length: SUBMITTERS }, (_, n) => this.#submit(ff, `${engine}-${n}`)),
		);
		for (const submitter of this.#submitters) submitter.catch(() => {});
	}

	static async start(url: string, options: { partitions: number; worker?: WorkerOptions }): Promise<Load> {
		const opened: FlowFabric[] = [];
		const faults: string[] = [];
		for (let n = 0; n < ENGINES; n++) {
			const onFault = ({ about, error }: { about: string; error: unknown }) => faults.push(`${about}: ${error}`);
			opened.push(await FlowFabric.open(url, { partitions: options.partitions, onFault }));
		}
		const load = new Load(opened);
		load.faults.push(...faults);
		for (const ff of opened) await load.#work(ff, options.worker);
		return load;
	}

	get engines() {
		return this.#opened.map((ff) => (ff.backend as LocalBackend).engine);
	}

	/** Waits until so many more were acknowledged and so many more were finished: the load is alive. */
	async flows(count = 50): Promise<void> {
		const goal = { acknowledged: this.acknowledged.length + count, finished: this.finished + count };
		const deadline = performance.now() + PATIENCE_MS;
		while (this.acknowledged.length < goal.acknowledged || this.finished < goal.finished) {
			if (performance.now() > deadline) throw new Error(`the load stands still: ${await this.#picture()}`);
			await sleep(5);
		}
	}

	/** Submits no more and waits until all work has ended. */
	async drain(): Promise<void> {
		this.#stopping.abort();
		await Promise.all(this.#submitters);
		const [ff] = this.#opened as [FlowFabric];
		const deadline = performance.now() + PATIENCE_MS;
		const open = async (): Promise<number> => {
			const states = ["waiting", "delayed", "active"] as const;
			const pages = await Promise.all(states.map((state) => ff.list({ state, limit: 1 })));
			return pages.reduce((sum, { executions }) => sum + executions.length, 0);
		};
		// Twice, as something may move from one state to another behind the back of whoever asks for them in turn.
		for (let empty = 0; empty < 2 && performance.now() < deadline; empty++) {
			if ((await open()) > 0) empty = -1;
			await sleep(50);
		}
	}

	async audit(): Promise<Audit> {
		const audit: Audit = { acknowledged: this.acknowledged.length, lost: [], doubled: [], stuck: [] };
		const ids = [...this.acknowledged];
		const [ff] = this.#opened as [FlowFabric];
		const looker = async () => {
			for (let id = ids.pop(); id !== undefined; id = ids.pop()) await lookUp(ff, id, audit);
		};
		await Promise.all(Array.from({ length: 16 }, looker));
		// Also what was never acknowledged must not be left half done.
		for (const state of ["waiting", "delayed", "active"] as const)
			for (const { id } of (await ff.list({ state, limit: 100 })).executions) audit.stuck.push(`${id} ${state}`);
		return audit;
	}

	/** How often an execution was taken from a holder whose lease had lapsed. */
	async reclaims(ids: readonly string[]): Promise<number> {
		const [ff] = this.#opened as [FlowFabric];
		let reclaims = 0;
		for (const id of ids) reclaims += (await ff.get(id)).reclaims;
		return reclaims;
	}

	get ff(): FlowFabric {
		return this.#opened[0] as FlowFabric;
	}

	async close(): Promise<void> {
		this.#stopping.abort();
		await Promise.allSettled(this.#submitters);
		await Promise.all(this.#opened.map((ff) => ff.close()));
	}

	async #work(ff: FlowFabric, options: WorkerOptions = {}): Promise<void> {
		const worker = ff.worker({ concurrency: 8, leaseMs: 3000, handleSignals: false, ...options });
		const finished = <T>(result: T): T => {
			this.finished += 1;
			return result;
		};
		worker.handle("plain", async (_context, input: { n: number }) => finished({ got: input.n }));
		worker.handle("flaky", async ({ attempt }) => {
			if (attempt.type === "initial") throw new RetryAfter(20, "once more");
			return finished("second time");
		});
		worker.handle("slow", async ({ progress }) => {
			await sleep(30);
			await progress({ percent: 100 });
			return finished("done");
		});
		await worker.start();
	}

	async #submit(ff: FlowFabric, name: string): Promise<void> {
		for (let n = 0; !this.#stopping.signal.aborted; n++) {
			const key = n % 4 === 0 ? { idempotencyKey: `${name}-${n}` } : {};
			const options = { ...key, policy: { retry: { maxRetries: 5 } } };
			for (;;) {
				try {
					this.acknowledged.push((await ff.submit(KINDS[n % 3] as string, { n }, options)).id);
					break;
				} catch (error) {
					if (!(error instanceof FlowFabricError) || !error.retryable) throw error;
					this.failures += 1;
					await sleep(10);
					if (!key.idempotencyKey) break;
				}
			}
			// Work and workers stay in balance, so that a fault meets both.
			while (this.acknowledged.length - this.finished > 500 && !this.#stopping.signal.aborted) await sleep(5);
		}
	}

	async #picture(): Promise<string> {
		const { failures, finished, faults } = this;
		return JSON.stringify({ acknowledged: this.acknowledged.length, finished, failures, faults: faults.slice(-5) });
	}
}

async function lookUp(ff: FlowFabric, id: string, audit: Audit): Promise<void> {
	const execution = await ff.get(id).catch((error: unknown) => {
		if (error instanceof FlowFabricError && error.code === "execution_not_found") return undefined;
		throw error;
	});
	if (!execution) {
		audit.lost.push(id);
		return;
	}
	if (execution.publicState !== "completed") {
		audit.stuck.push(`${id} ${execution.publicState} ${execution.blockingDetail}`);
		return;
	}
	const { events } = await ff.events(id, { limit: 1000 });
	if (events.filter(({ type }) => type === "completed").length !== 1) audit.doubled.push(id);
}
