import { TURN_MS, type Unit } from "./port.ts";

/** Turns that ended unused are swept once this many have gathered. */
const SWEEP_SIZE = 1000;

/**
 * Short reservations of records for an engine that kept losing on them. They live in memory only: they last a moment,
 * and one process owns the store.
 */
export class Turns {
	readonly #turns = new Map<string, { engine: string; until: number }>();

	/** Until when another engine has its turn on something this unit writes. */
	heldByOther(unit: Unit, engine: string, time: number): number | undefined {
		if (this.#turns.size === 0) return undefined;
		for (const key of writtenKeys(unit)) {
			const turn = this.#turns.get(key);
			if (!turn || turn.engine === engine) continue;
			if (turn.until > time) return turn.until;
			this.#turns.delete(key);
		}
		return undefined;
	}

	take(keys: readonly string[], engine: string, time: number): void {
		if (this.#turns.size > SWEEP_SIZE) {
			for (const [key, { until }] of this.#turns) if (until <= time) this.#turns.delete(key);
		}
		for (const key of keys) this.#turns.set(key, { engine, until: time + TURN_MS });
	}

	/** A turn ends with the first write of its engine. */
	used(unit: Unit): void {
		if (this.#turns.size === 0) return;
		for (const key of writtenKeys(unit)) this.#turns.delete(key);
	}
}

function* writtenKeys(unit: Unit): Iterable<string> {
	for (const { key } of unit.put) yield key;
	yield* unit.removed;
}
