import { guardText } from "../../kernel/admission/guards.ts";
import { turnScore } from "../../kernel/placement.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import type { GuardName } from "../../kernel/records/guard.ts";

const MOST_TURNS = 4096;
/** How far ahead of the clock a key may get where many of it are released at once. */
const MOST_AHEAD_MS = 256;

/**
 * Which fairness keys had their turn when this engine released what waits for budgets and quotas. Every partition gives
 * out turns by itself, so of a key that waits in many of them as many have the same turn: here they count one after the
 * other, or a key that waits in a single one would be served so many times less often.
 */
export class ReleaseTurns {
	/** Where a key's last turn was, latest last. */
	readonly #last = new Map<string, number>();

	/** The same executions, in the order in which their keys take turns. */
	order(guard: GuardName, records: readonly ExecutionRecord[], now: number): ExecutionRecord[] {
		if (!records.some(({ fairnessKey }) => fairnessKey !== "")) return [...records];
		const last = new Map<string, number>();
		return records
			.map((record) => {
				if (record.fairnessKey === "") return { record, turn: turnScore(record) };
				const name = nameOf(guard, record);
				const turn = turnBehind(record, last.get(name) ?? this.#last.get(name), now);
				last.set(name, turn);
				return { record, turn };
			})
			.sort((a, b) => a.turn - b.turn)
			.map(({ record }) => record);
	}

	released(guard: GuardName, record: ExecutionRecord, now: number): void {
		if (record.fairnessKey === "") return;
		const name = nameOf(guard, record);
		const turn = turnBehind(record, this.#last.get(name), now);
		this.#last.delete(name);
		const [oldest] = this.#last.size >= MOST_TURNS ? this.#last.keys() : [];
		if (oldest !== undefined) this.#last.delete(oldest);
		this.#last.set(name, turn);
	}
}

/** Where it stands if its key had a turn at `last`. */
function turnBehind(record: ExecutionRecord, last: number | undefined, now: number): number {
	const own = turnScore(record);
	if (last === undefined || last < own) return own;
	return Math.max(own, Math.min(last + 1, now - record.priority * record.agingMs + MOST_AHEAD_MS));
}

const nameOf = (guard: GuardName, { fairnessKey, priority }: ExecutionRecord): string =>
	`${guardText(guard)},${priority},${fairnessKey}`;
