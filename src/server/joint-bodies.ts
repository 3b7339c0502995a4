import { FlowFabricError } from "../contract/errors.ts";
import type { TSchema } from "../contract/schema.ts";
import type { Shape } from "../contract/validate.ts";
import { BODY_LIMIT, notJson } from "./bodies.ts";
import { type ItemPlace, ItemScanner } from "./item-scanner.ts";

/** How the items of a joint call are answered; each by itself. */
export interface JointCall<A> {
	/** The shape of the whole, for bodies that were parsed whole. */
	shape: Shape<TSchema>;
	most: number;
	answer(items: unknown[]): Promise<A[]>;
	/** The answer to an item that was not even tried. */
	refuse(error: FlowFabricError): A;
}

/** A step ends when one of these is reached, and others get their turn. */
const STEP_ITEMS = 128;
const STEP_BYTES = 256 * 1024;

/**
 * Answers a joint call, in the order of its items. A large body is parsed item by item, some at a time: neither the event
 * loop nor memory ever has to do with all of it, and what is larger than the body of a single call may be is not parsed.
 */
export async function answerJointly<A>(body: unknown, call: JointCall<A>): Promise<A[]> {
	if (!Buffer.isBuffer(body)) return call.answer((call.shape.check(body) as { items: unknown[] }).items);
	const places = await itemsOf(body, call.most);
	const answers = new Array<A>(places.length);
	const steps: Promise<void>[] = [];
	for (let from = 0; from < places.length; ) {
		const step = new Step(call, answers);
		for (; from < places.length && step.hasRoom; from++) step.add(body, places[from] as ItemPlace, from);
		steps.push(step.send());
		await new Promise(setImmediate);
	}
	await Promise.all(steps);
	return answers;
}

async function itemsOf(body: Buffer, most: number): Promise<readonly ItemPlace[]> {
	const form = { lists: { items: { most } }, required: "items", mostRest: 0 };
	return (await new ItemScanner(body, form).scan()).lists.get("items") ?? [];
}

/** Some items that are parsed and sent together. */
class Step<A> {
	readonly #call: JointCall<A>;
	readonly #answers: A[];
	readonly #items: unknown[] = [];
	/** Where in the body each of them stood. */
	readonly #numbers: number[] = [];
	#bytes = 0;

	constructor(call: JointCall<A>, answers: A[]) {
		this.#call = call;
		this.#answers = answers;
	}

	get hasRoom(): boolean {
		return this.#items.length < STEP_ITEMS && this.#bytes < STEP_BYTES;
	}

	add(body: Buffer, { start, end }: ItemPlace, number: number): void {
		const field = `items[${number}]`;
		try {
			this.#items.push(parseItem(body, { start, end }, field));
			this.#numbers.push(number);
			this.#bytes += end - start;
		} catch (error) {
			this.#answers[number] = this.#call.refuse(error as FlowFabricError);
		}
	}

	async send(): Promise<void> {
		if (this.#items.length === 0) return;
		const answers = await this.#call.answer(this.#items);
		this.#numbers.forEach((number, n) => {
			this.#answers[number] = answers[n] as A;
		});
	}
}

/** An item by itself; what is larger than the body of a single call may be is not parsed. */
export function parseItem(body: Buffer, { start, end }: ItemPlace, field: string): unknown {
	if (end - start > BODY_LIMIT) throw tooLarge(field, end - start);
	try {
		return JSON.parse(body.toString("utf8", start, end));
	} catch (error) {
		throw notJson(field, error);
	}
}

const tooLarge = (field: string, size: number): FlowFabricError =>
	new FlowFabricError("payload_too_large", {
		message: `${field}: must be at most ${BODY_LIMIT} bytes, as the body of a single call, got ${size}`,
		details: { field, limit: BODY_LIMIT, size },
	});
