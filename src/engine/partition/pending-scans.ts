import type { Running } from "./running.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Commands whose scan has yet to be made. A scan holds only while its guard is not written, so where that is written all
 * the time none would ever be made: therefore these commands run before all others, and in the round in which their scan
 * is fetched no other command writes its guard. Whoever would is held back for that one round, and runs in the next, after
 * the scan; it is not held back again before it has run.
 */
export class PendingScans {
	readonly #commands = new Set<Running>();
	/** What is not written in this round. */
	readonly #guards = new Set<string>();

	/** A round begins: these commands wait. */
	begin(waiting: Running[]): Running[] {
		this.#guards.clear();
		if (this.#commands.size === 0) return waiting;
		const others = waiting.filter((running) => !this.#commands.has(running));
		return waiting.filter((running) => this.#commands.has(running)).concat(others);
	}

	/** A command needs a scan, which this round fetches if nothing else is on its way. */
	missed(running: Running, tx: Transaction, isFetched: boolean): void {
		if (tx.missingScans.length === 0) return;
		this.#commands.add(running);
		if (isFetched) for (const { guard } of tx.missingScans) this.#guards.add(guard);
	}

	/** Whether a command that has run is to do so in the next round instead. */
	holdsBack(running: Running, tx: Transaction): boolean {
		if (this.#guards.size === 0 || running.hasYielded) return false;
		if (!tx.writes.some(({ key }) => this.#guards.has(key))) return false;
		running.hasYielded = true;
		return true;
	}

	/** A command has run, or will not. */
	done(running: Running): void {
		running.hasYielded = false;
		if (this.#commands.size > 0) this.#commands.delete(running);
	}
}
