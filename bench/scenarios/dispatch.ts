import { median } from "../limits/sqlite-writes.ts";
import { payload, type Target } from "../target.ts";

/**
 * Submit → the handler of an idle worker starts: milliseconds, the median and the 99th percentile, after a warm-up.
 * Between one and the next something else may be done.
 */
export async function dispatch(
	{ ff }: Pick<Target, "ff">,
	count: number,
	warmUp = 0,
	between = async (_n: number): Promise<void> => {},
): Promise<{ p50: number; p99: number }> {
	let started: (at: number) => void = () => {};
	const worker = ff.worker({ concurrency: 16, handleSignals: false });
	worker.handle("ping", async () => {
		started(performance.now());
	});
	await worker.start();
	const times: number[] = [];
	for (let n = 0; n < warmUp + count; n++) {
		const begun = new Promise<number>((resolve) => (started = resolve));
		const startedAt = performance.now();
		const submitted = ff.submit("ping", payload(n));
		const took = (await begun) - startedAt;
		if (n >= warmUp) times.push(took);
		await (await submitted).wait();
		await between(n);
	}
	await worker.stop();
	const sorted = [...times].sort((a, b) => a - b);
	return { p50: median(times), p99: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN };
}
