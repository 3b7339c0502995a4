import { setTimeout as pause } from "node:timers/promises";
import type { FlowFabric, TypedWorker } from "../../library/flowfabric.ts";
import type { Logger } from "../../worker/logger.ts";

/** The kinds of work the demonstration knows. */
export interface DemoKinds {
	[kind: string]: { input: unknown; result: unknown };
	greet: { input: { name?: string } | undefined; result: string };
	flaky: { input: { failures?: number } | undefined; result: string };
	slow: { input: { steps?: number } | undefined; result: string };
}

export interface DemoWatcher {
	/** Told how far a run of `slow` is. */
	progress(id: string, percent: number, message: string): void;
	/** Told of every run that ended with a result. */
	result(id: string, value: unknown): void;
}

const STEP_MS = 150;

const ignore = () => {};

/** A worker in this process, so that what a newcomer submits is run. */
export function demoWorker(ff: FlowFabric<DemoKinds>, watcher: DemoWatcher, log: Logger): TypedWorker<DemoKinds> {
	// Failures are part of the show, which tells of them itself.
	const shown = { debug: ignore, info: ignore, warn: ignore, error: ignore };
	const logOfWorker: Logger = {
		debug: (line) => log.debug(line),
		info: (line) => log.info(line),
		warn: (line) => log.warn(line),
		error: (line) => log.error(line),
		child: () => shown,
	};
	const worker = ff.worker({ workerId: "demo", concurrency: 16, handleSignals: false, log: logOfWorker });
	worker.use(async (ctx, next) => {
		const value = await next();
		watcher.result(ctx.execution.id, value);
		return value;
	});
	worker.handle("greet", async (_ctx, input) => `hello, ${input?.name ?? "whoever you are"}`);
	worker.handle("flaky", async ({ attempt }, input) => {
		if (attempt.index < (input?.failures ?? 1)) throw new Error(`attempt ${attempt.index} did not work out`);
		return `worked at attempt ${attempt.index}`;
	});
	worker.handle("slow", async (ctx, input) => {
		const steps = Math.min(1000, Math.max(1, input?.steps ?? 5));
		for (let step = 1; step <= steps; step++) {
			await pause(STEP_MS, undefined, { signal: ctx.signal });
			const percent = Math.round((100 * step) / steps);
			const message = `step ${step} of ${steps}`;
			await ctx.progress({ percent, message });
			watcher.progress(ctx.execution.id, percent, message);
		}
		return `${steps} steps done by attempt ${ctx.attempt.index}`;
	});
	return worker;
}
