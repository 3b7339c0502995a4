import { median } from "../limits/sqlite-writes.ts";
import { payload, type Target } from "../target.ts";

/** Milliseconds of a step. */
export interface StepCosts {
	/** Among the first of its handler, and among the last. */
	early: number;
	late: number;
	/** When the handler runs again and the step is recorded. */
	passed: number;
}

const WINDOW = 1000;

/** A handler of many steps, one after the other, that runs twice. */
export async function stepCosts({ ff }: Pick<Target, "ff">, steps: number): Promise<StepCosts> {
	const ran: number[] = [];
	let passed = 0;
	const worker = ff.worker({ concurrency: 1, handleSignals: false });
	worker.handle("steps", async (ctx) => {
		const beganAt = performance.now();
		for (let n = 0; n < steps; n++) {
			const startedAt = performance.now();
			await ctx.step("step", () => payload(n));
			if (ctx.attempt.index === 0) ran.push(performance.now() - startedAt);
		}
		if (ctx.attempt.index === 0) throw new Error("once more");
		passed = (performance.now() - beganAt) / steps;
	});
	await worker.start();
	const policy = { retry: { maxRetries: 1, backoff: { type: "fixed", delayMs: 0 } } } as const;
	await (await ff.submit("steps", undefined, { policy })).result();
	await worker.stop();
	if (ran.length !== steps) throw new Error(`${ran.length} steps ran instead of ${steps}`);
	return { early: median(ran.slice(0, WINDOW)), late: median(ran.slice(-WINDOW)), passed };
}
