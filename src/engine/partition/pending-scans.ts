import type { Running } from "./running.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Lets scans be made. A scan holds only while its guard is not written, so where that is written all the time none would
 * ever be made: therefore a command that was put off because of its scan goes before all others from then on, and in the
 * round in which the scan is fetched no other command writes its guard. Whoever would is held back until the scan has
 * been made, but not by scans that came later than that.
 */
export class PendingScans {
	#tickets = 0;
	/** What is not written in this round, and the first scan because of which it is not. */
	readonly #guards = new Map<string, number>();

	/** A round begins: these commands wait, and are to run in the order given back. */
	begin(waiting: Running[]): Running[] {
		this.#guards.clear();
		if (!waiting.some(isScanning)) return waiting;
		return waiting.filter(isScanning).concat(waiting.filter((running) => !isScanning(running)));
	}

	/** A command needs a scan, which this round fetches if nothing else is on its way. */
	missed(running: Running, { missingScans }: Transaction, isFetched: boolean): void {
		if (missingScans.length === 0) return;
		running.scanTicket ||= ++this.#tickets;
		if (!isFetched) return;
		for (const { guard } of missingScans)
			if ((this.#guards.get(guard) ?? running.scanTicket) >= running.scanTicket)
				this.#guards.set(guard, running.scanTicket);
	}

	/** Whether a command that has run is to do so in a later round instead. */
	holdsBack(running: Running, { writes }: Transaction): boolean {
		// Once held back it lets those go first that were there then, and no others before it has run.
		const upTo = running.yieldsUpTo || this.#tickets;
		const isHeld =
			this.#guards.size > 0 && writes.some(({ key }) => (this.#guards.get(key) ?? Number.POSITIVE_INFINITY) <= upTo);
		running.yieldsUpTo = isHeld ? upTo : 0;
		return isHeld;
	}
}

const isScanning = ({ scanTicket }: Running): boolean => scanTicket > 0;
