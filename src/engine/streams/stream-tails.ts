import type { Session } from "../calls/session.ts";
import type { StreamName } from "./frame-reader.ts";
import { SharedTail } from "./shared-tail.ts";

/** Streams that somebody in this process follows; who may see an execution is part of what is asked. */
export class StreamTails {
	readonly #tails = new Map<string, SharedTail>();

	/** How many streams are followed, and by how many. */
	get size(): number {
		return this.#tails.size;
	}

	get readers(): number {
		let readers = 0;
		for (const { users } of this.#tails.values()) readers += users;
		return readers;
	}

	of(session: Session, name: StreamName): SharedTail {
		const key = `${session.caller.namespace ?? ""}/${name.id}/${name.attempt}`;
		const known = this.#tails.get(key);
		if (known) return known;
		const tail = new SharedTail(session, name, () => {
			if (this.#tails.get(key) === tail) this.#tails.delete(key);
		});
		this.#tails.set(key, tail);
		return tail;
	}
}
