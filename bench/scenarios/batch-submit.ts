import { payload, type Target } from "../target.ts";

const BATCH = 1000;

/** `submitMany` of 1000 at a time, one after the other. Executions per second. */
export async function batchSubmit({ ff }: Pick<Target, "ff">, count: number): Promise<number> {
	const startedAt = performance.now();
	for (let from = 0; from < count; from += BATCH) {
		const items = Array.from({ length: Math.min(BATCH, count - from) }, (_, n) => ({
			kind: "noop",
			input: payload(from + n),
		}));
		const results = await ff.submitMany(items);
		const bad = results.find((result) => !result.ok);
		if (bad) throw new Error(`an item was refused: ${JSON.stringify(bad)}`);
	}
	return count / ((performance.now() - startedAt) / 1000);
}
