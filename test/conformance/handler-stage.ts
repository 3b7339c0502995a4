import type { Context, Handler, StepView, WorkerOptions } from "../../src/index.ts";
import type { Scene } from "./scene.ts";

/** What a handler of a case does; its input is its own business. */
// biome-ignore lint/suspicious/noExplicitAny: cases look into whatever came
type AnyHandler = (ctx: Context<any>, input: any) => unknown;

export interface AtWork {
	/** What the worker's log says, each line with its level. */
	log: string[];
}

/** Runs a worker for kind `job` while `run` goes on. Time passes only when the case says so. */
export async function withWorker(
	scene: Scene,
	handler: AnyHandler,
	run: (at: AtWork) => Promise<void>,
	options: WorkerOptions = {},
): Promise<void> {
	const log: string[] = [];
	const note = (level: string) => (message: string) => void log.push(`${level} ${message}`);
	const logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
	const worker = scene.ff
		.worker({ handleSignals: false, clock: scene.clock, log: logger, ...options })
		.handle("job", handler as Handler);
	await worker.start();
	await scene.clock.settle();
	try {
		await run({ log });
	} finally {
		const stopping = worker.stop({ graceMs: 0 });
		await scene.clock.advance(1);
		await stopping;
	}
}

/** Submits work for it and lets it be taken up. */
export async function submitted(scene: Scene, request: Parameters<Scene["create"]>[0] = {}): Promise<string> {
	const id = await scene.create(request);
	await scene.clock.settle();
	return id;
}

export async function stepsOf(scene: Scene, id: string): Promise<StepView[]> {
	return (await scene.backend.executions.steps(id, { limit: 1000, values: true })).steps;
}

/** Policy of work that is tried again at once. */
export const tried = (maxRetries = 3) => ({
	policy: { retry: { maxRetries, backoff: { type: "fixed" as const, delayMs: 0 } } },
});
