import { TURN_MS, type Unit } from "./port.ts";

/**
 * Short reservations of records for an engine that kept losing on them. They live in memory only: they last a moment,
 * and one process owns the store. They go by the clock, not by a partition's time: when the clock is set back that stands
 * still until it is caught up with, and nobody may have to wait for an engine's turn so long.
 */
export class Turns {
	readonly #turns = new Map<string, { engine: string; until: number }>();
	/** The end of the one given last: when it is over, all are. */
	#last = 0;

	/** For how long another engine still has its turn on something this unit writes. */
	heldByOther(unit: Unit, engine: string, clock: number): number | undefined {
		if (!isOn(this.#last, clock)) return undefined;
		for (const key of writtenKeys(unit)) {
			const turn = this.#turns.get(key);
			if (turn && turn.engine !== engine && isOn(turn.until, clock)) return turn.until - clock;
		}
		return undefined;
	}

	take(keys: readonly string[], engine: string, clock: number): void {
		if (!isOn(this.#last, clock)) this.#turns.clear();
		this.#last = clock + TURN_MS;
		for (const key of keys) this.#turns.set(key, { engine, until: this.#last });
	}

	/** A turn ends with the first write of its engine. */
	used(unit: Unit, clock: number): void {
		if (!isOn(this.#last, clock)) return;
		for (const key of writtenKeys(unit)) if (isOn(this.#turns.get(key)?.until ?? 0, clock)) this.#turns.delete(key);
	}
}

/** One that seems to last longer than any does was given before the clock was set back: it is over. */
function isOn(until: number, clock: number): boolean {
	return until > clock && until - clock <= TURN_MS;
}

function* writtenKeys(unit: Unit): Iterable<string> {
	for (const { key } of unit.put) yield key;
	yield* unit.removed;
}
