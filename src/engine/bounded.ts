import type { Clock } from "../contract/clock.ts";
import { STEP, type Steps } from "../kernel/steps.ts";

/**
 * A `map` of questions to the store, so many at a time: however many there are, others' come in between. Results stand in
 * the order of the items; the first failure is the answer.
 */
export async function mapBounded<T, R>(items: readonly T[], most: number, one: (item: T) => Promise<R>): Promise<R[]> {
	const results = new Array<R>(items.length);
	let next = 0;
	const goOn = async (): Promise<void> => {
		while (next < items.length) {
			const n = next++;
			results[n] = await one(items[n] as T);
		}
	};
	await Promise.all(Array.from({ length: Math.min(most, items.length) }, goOn));
	return results;
}

/** Long work of the kernel, with a turn for others after each of its steps. */
export async function inTurns<R>(steps: Steps<R>, clock: Clock): Promise<R> {
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
		await turn(clock);
	}
}

/** Others get their turn. */
export const turn = (clock: Clock): Promise<void> => new Promise((resolve) => clock.defer(resolve));

/** A `map` without questions, so many items to a turn. */
export async function mapInTurns<T, R>(
	items: readonly T[],
	clock: Clock,
	one: (item: T, n: number) => R,
): Promise<R[]> {
	const results: R[] = [];
	for (const [n, item] of items.entries()) {
		if (n > 0 && n % STEP === 0) await turn(clock);
		results.push(one(item, n));
	}
	return results;
}

/** Items begun before others get their turn. */
const SLICE = 128;

/**
 * All at once, but begun some at a time, so that a call for a thousand does not hold up the loop. Once one has failed no
 * more are begun.
 */
export async function mapInSlices<T, R>(
	items: readonly T[],
	clock: Clock,
	one: (item: T, n: number) => Promise<R>,
): Promise<R[]> {
	const begun: Promise<R>[] = [];
	let hasFailed = false;
	// One that fails while others get their turn must be heard at once: Node ends a process over a failure nobody hears.
	const fail = () => {
		hasFailed = true;
	};
	// The caller may use the list again as soon as it has called.
	for (const item of [...items]) {
		if (begun.length > 0 && begun.length % SLICE === 0) await turn(clock);
		if (hasFailed) break;
		const promise = one(item, begun.length);
		promise.catch(fail);
		begun.push(promise);
	}
	return Promise.all(begun);
}
