import type { SubmitOptions } from "../../src/index.ts";
import { payload, type Target } from "../target.ts";

export const SUBMITTERS = 64;
export const CONCURRENCY = 16;

/** Submits so many, by so many submitters at once. */
export async function submitAll(
	ff: Target["ff"],
	count: number,
	options: (n: number) => SubmitOptions = () => ({}),
): Promise<void> {
	let submitted = 0;
	const submitter = async () => {
		while (submitted < count) {
			const n = submitted++;
			await ff.submit("noop", payload(n), options(n));
		}
	};
	await Promise.all(Array.from({ length: SUBMITTERS }, submitter));
}

/** Submit → claim → complete, all at once: 64 submitters, one worker with 16 no-op handlers. Lifecycles per second. */
export async function lifecycle(
	{ ff }: Pick<Target, "ff">,
	count: number,
	options?: (n: number) => SubmitOptions,
): Promise<number> {
	let done = 0;
	let finish = () => {};
	const finished = new Promise<void>((resolve) => (finish = resolve));
	const worker = ff.worker({ concurrency: CONCURRENCY, handleSignals: false });
	worker.use(async (_context, next) => {
		const result = await next();
		if (++done === count) finish();
		return result;
	});
	worker.handle("noop", async () => ({ ok: true }));
	const startedAt = performance.now();
	await worker.start();
	await submitAll(ff, count, options);
	await finished;
	// The last handlers have run; stopping waits until their outcomes are committed.
	await worker.stop();
	return count / ((performance.now() - startedAt) / 1000);
}
