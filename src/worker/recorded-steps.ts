import type { StepView } from "../contract/replies.ts";
import { type HandlerRun, insist } from "./handler-run.ts";

const PAGE = 1000;

/**
 * What was recorded of an execution before this run. It is read page by page as the handler gets there: a run comes by its
 * steps in about the order they were made, so what it asks for next is in hand or on the next page.
 */
export class RecordedSteps {
	readonly #run: HandlerRun;
	/** Read, and not asked for yet. */
	readonly #inHand = new Map<string, StepView>();
	/** Where to read on; undefined when all was read. */
	#next: { cursor?: string } | undefined;
	#reading: Promise<void> | undefined;

	constructor(run: HandlerRun, stepCount: number) {
		this.#run = run;
		this.#next = stepCount > 0 ? {} : undefined;
	}

	/** A step that has a result; given once, since no run comes by it twice. */
	async take(name: string, index: number): Promise<StepView | undefined> {
		const place = placeOf(name, index);
		for (;;) {
			const step = this.#inHand.get(place);
			if (step) this.#inHand.delete(place);
			if (step || !this.#next) return step;
			// Steps that run side by side wait for the same page.
			this.#reading ??= this.#readOn(this.#next).finally(() => (this.#reading = undefined));
			await this.#reading;
		}
	}

	async #readOn(from: { cursor?: string }): Promise<void> {
		const { id, backend } = this.#run;
		const { steps, nextCursor } = await insist(this.#run, () =>
			backend.executions.steps(id, { ...from, limit: PAGE, values: true }),
		);
		for (const step of steps) if (!step.error) this.#inHand.set(placeOf(step.name, step.index), step);
		this.#next = nextCursor === undefined ? undefined : { cursor: nextCursor };
	}
}

const placeOf = (name: string, index: number): string => `${index}.${name}`;

/** What a step returned, as it was recorded. */
export const valueOfStep = ({ result, resultBase64 }: StepView): unknown =>
	resultBase64 === undefined ? result : new Uint8Array(Buffer.from(resultBase64, "base64"));
