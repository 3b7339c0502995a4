import { onTestFinished } from "vitest";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import {
	type Backend,
	type Context,
	FlowFabric,
	FlowFabricError,
	type LeaseCalls,
	type Logger,
} from "../../src/index.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { Worker } from "../../src/worker/worker.ts";
import type { WorkerOptions } from "../../src/worker/worker-options.ts";

/** Something a test opens when it is time; what waits for it goes on. */
export interface Gate {
	passed: Promise<void>;
	open: () => void;
}

export function gate(): Gate {
	let open = () => {};
	const passed = new Promise<void>((resolve) => (open = resolve));
	return { passed, open };
}

/** A backend with some calls of the worker protocol replaced; the rest go through. */
export function withCalls(backend: Backend, calls: Partial<LeaseCalls>): Backend {
	const leases = new Proxy(backend.leases, {
		get(target, name: keyof LeaseCalls) {
			return calls[name] ?? target[name].bind(target as never);
		},
	});
	return new Proxy(backend, {
		get: (target, name: keyof Backend) => (name === "leases" ? leases : target[name]),
	});
}

export const unavailable = (): FlowFabricError => new FlowFabricError("store_unavailable");

/** Workers on memory, in time that passes only when a test says so. */
export class Stage {
	readonly clock = new VirtualClock();
	readonly log: string[] = [];
	readonly logger: Logger;
	#ff: FlowFabric | undefined;
	readonly #workers: Worker[] = [];

	private constructor() {
		const note = (level: string) => (message: string) => void this.log.push(`${level} ${message}`);
		this.logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
	}

	static async open(): Promise<Stage> {
		const stage = new Stage();
		const { clock } = stage;
		const ff = await FlowFabric.open("memory:", { testClock: { now: clock.now, clock } });
		stage.#ff = ff;
		if (!(ff.backend instanceof LocalBackend)) throw new TypeError("memory: runs in process");
		const { engine } = ff.backend;
		clock.watch(() => !engine.idle);
		onTestFinished(() => stage.#close());
		return stage;
	}

	get ff(): FlowFabric {
		if (!this.#ff) throw new Error("the stage is not open");
		return this.#ff;
	}

	get backend(): Backend {
		return this.ff.backend;
	}

	/** A worker named `w-1`; its leases last 3 s, so that it renews every second. */
	worker(options: WorkerOptions = {}, backend = this.backend): Worker {
		const worker = new Worker(backend, {
			clock: this.clock,
			handleSignals: false,
			log: this.logger,
			leaseMs: 3000,
			workerId: "w",
			instanceId: "w-1",
			...options,
		});
		this.#workers.push(worker);
		return worker;
	}

	/** Starts a worker of one kind, `job`. */
	async run(
		handler: (ctx: Context<never>) => unknown,
		options: WorkerOptions = {},
		backend?: Backend,
	): Promise<Worker> {
		const worker = this.worker(options, backend).handle("job", handler);
		await worker.start();
		return worker;
	}

	async submit(input?: unknown, options: Parameters<FlowFabric["submit"]>[2] = {}): Promise<string> {
		const { id } = await this.ff.submit("job", input, options);
		await this.clock.settle();
		return id;
	}

	async state(id: string): Promise<string> {
		return (await this.backend.executions.get(id)).publicState;
	}

	async #close(): Promise<void> {
		// Handlers a test left running must not hold up its end.
		const stopping = this.#workers.map((worker) => worker.stop({ graceMs: 0 }));
		await this.clock.advance(10_000);
		await Promise.all(stopping);
		await this.ff.close();
	}
}
