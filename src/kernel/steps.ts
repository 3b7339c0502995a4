/**
 * Long work that can be stopped between its steps and gone on with. Rules stay pure and know nothing of time; whoever
 * runs such work decides when others get their turn.
 */
export type Steps<R> = Generator<undefined, R, undefined>;

/** How many small things are done in a step: together they take a millisecond or two. */
export const STEP = 2000;

export function inOneGo<R>(steps: Steps<R>): R {
	for (;;) {
		const step = steps.next();
		if (step.done) return step.value;
	}
}
