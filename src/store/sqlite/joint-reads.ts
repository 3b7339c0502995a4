import type { StoredRecord } from "../port.ts";

/** Versions and documents in turn, in the order of the keys asked for. */
export type Found = readonly (number | string)[];

type Answer = Promise<{ time: number; found: Found }>;

interface Joint {
	keys: string[];
	answer: Answer;
	settle(answer: Answer): void;
}

/**
 * Reads asked for together: those of one turn of the loop, and those that come while others are on their way. What crosses
 * between threads costs by the message and by the object, and readers, as over HTTP, want a record each.
 */
export class JointReads {
	readonly #ask: (keys: readonly string[]) => Answer;
	#gathering: Joint | undefined;
	/** How many times it has asked and not been answered yet: once, unless told to send. */
	#away = 0;

	constructor(ask: (keys: readonly string[]) => Answer) {
		this.#ask = ask;
	}

	async read(keys: readonly string[]): Promise<{ time: number; records: StoredRecord[] }> {
		this.#gathering ??= this.#begin();
		const joint = this.#gathering;
		const from = joint.keys.length;
		for (const key of keys) joint.keys.push(key);
		const { time, found } = await joint.answer;
		const records = keys.map((key, n) => {
			const at = 2 * (from + n);
			return { key, version: found[at] as number, doc: found[at + 1] as string };
		});
		return { time, records };
	}

	/** Asks for what has gathered. */
	send(): void {
		const joint = this.#gathering;
		if (!joint) return;
		this.#gathering = undefined;
		this.#away += 1;
		joint.settle(this.#ask(joint.keys));
		const returned = () => {
			this.#away -= 1;
			this.send();
		};
		joint.answer.then(returned, returned);
	}

	#begin(): Joint {
		let settle: Joint["settle"] = () => {};
		const answer: Answer = new Promise((resolve) => (settle = resolve));
		const joint = { keys: [], answer, settle };
		setImmediate(() => {
			if (this.#gathering === joint && this.#away === 0) this.send();
		});
		return joint;
	}
}
