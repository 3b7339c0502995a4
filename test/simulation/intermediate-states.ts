import type { Kernel } from "../../src/kernel/kernel.ts";
import { encode } from "../../src/kernel/record-types.ts";
import { BUDGET_PREFIX } from "../../src/kernel/records/budget.ts";
import { QUOTA_PREFIX } from "../../src/kernel/records/quota.ts";
import type { Tx } from "../../src/kernel/tx.ts";

/**
 * Commands that share a unit leave only the last state in the store, but each was answered from the state before it. This
 * remembers which document a rule made from which, so that a watcher of commits can see the states between.
 */
export class IntermediateStates {
	/** By key and document: two executions may well have the same. */
	readonly #madeFrom = new Map<string, string>();
	readonly #removedFrom = new Map<string, string>();

	/** The documents of a record between `before` and `after`, both excluded, oldest first. */
	between(key: string, before: string | undefined, after: string): string[] {
		const found: string[] = [];
		let doc = this.#madeFrom.get(key + after);
		while (doc !== undefined && doc !== before && found.length < 100) {
			found.unshift(doc);
			doc = this.#madeFrom.get(key + doc);
		}
		return found;
	}

	/** The documents between `before` and the removal of a record. */
	beforeRemoval(key: string, before: string | undefined): string[] {
		const last = this.#removedFrom.get(key);
		return last === undefined || last === before ? [] : [...this.between(key, before, last), last];
	}

	recordIn(kernel: Kernel): Kernel {
		const rules = Object.entries(kernel.rules).map(([op, rule]) => [
			op,
			(tx: Tx, command: never, now: number) =>
				(rule as (tx: Tx, command: never, now: number) => unknown)(this.#watch(tx), command, now),
		]);
		return { ...kernel, rules: Object.fromEntries(rules) };
	}

	#watch(tx: Tx): Tx {
		return {
			isHere: (slot) => tx.isHere(slot),
			get: (key) => tx.get(key),
			isUnreadable: (key) => tx.isUnreadable(key),
			getReadable: (key) => tx.getReadable(key),
			getFresh: (key) => tx.getFresh(key),
			expect: (keys) => tx.expect(keys),
			expectFirst: (queues, count) => tx.expectFirst(queues, count),
			remove: (key) => {
				const before = key.startsWith("ex_") ? tx.getFresh(key) : undefined;
				if (before) this.#removedFrom.set(key, encode(key, before));
				tx.remove(key);
			},
			first: (queue, count) => tx.first(queue, count),
			all: (queue, guard, most) => tx.all(queue, guard, most),
			emit: (event) => tx.emit(event),
			forget: (id) => tx.forget(id),
			putBlob: (blob) => tx.putBlob(blob),
			removeBlob: (key) => tx.removeBlob(key),
			put: (key, record) => {
				if (isWatched(key)) {
					const before = tx.getFresh(key);
					if (before) this.#madeFrom.set(key + encode(key, record), encode(key, before));
				}
				tx.put(key, record);
			},
		};
	}
}

/** Records that many commands of one unit may change. */
const isWatched = (key: string): boolean =>
	key.startsWith("ex_") || key.startsWith(BUDGET_PREFIX) || key.startsWith(QUOTA_PREFIX);
