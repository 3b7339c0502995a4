import type { ScannerView } from "../../contract/replies.ts";
import { DUTIES, type Duty } from "../../kernel/timers.ts";

/** The passes over all that is due, and what is done with every sweep, count beside the duties themselves. */
export type ScannerName = Duty | (typeof SWEEPS)[number];

const SWEEPS = [
	"unblock",
	"due",
	"event_trimmer",
	"index_reconciler",
	"quota_reconciler",
	"budget_reconciler",
	"dependency_reconciler",
] as const;

/** Everything the engine does on its own; events name it as their actor. */
export const SCANNER_NAMES: readonly ScannerName[] = [...DUTIES, ...SWEEPS];

/** What one pass did for one duty. */
export interface DutyRun {
	items: number;
	lagMs?: number;
}

/** How often an engine did its duties, and how late. An item that fails has not told its duty: it counts as `due`. */
export class DutyLog {
	readonly #rows = new Map<ScannerName, ScannerView>();

	constructor() {
		for (const name of SCANNER_NAMES) {
			this.#rows.set(name, { name, runs: 0, items: 0, errors: 0, parked: 0 });
		}
	}

	ran(name: ScannerName, at: number, durationMs: number, { items, lagMs }: DutyRun): void {
		const row = this.#row(name);
		row.runs += 1;
		row.items += items;
		row.lastRunAt = at;
		row.lastDurationMs = Math.round(durationMs);
		if (lagMs !== undefined) row.lagMs = Math.max(0, Math.round(lagMs));
	}

	failed(name: ScannerName): void {
		this.#row(name).errors += 1;
	}

	/** `parked` is how many items are put aside now. */
	rows(parked: number): ScannerView[] {
		return [...this.#rows.values()].map((row) => ({ ...row, parked: row.name === "due" ? parked : 0 }));
	}

	#row(name: ScannerName): ScannerView {
		return this.#rows.get(name) as ScannerView;
	}
}
