import { ENDINGS } from "../kernel/events.ts";
import { type ExecutionRecord, executionKey } from "../kernel/records/execution.ts";
import type { UnitDraft } from "./unit-draft.ts";

const SECONDS = 60;

/** How many things happened in each of the last seconds; a slot is used again after a minute. */
interface Ring {
	seconds: Float64Array;
	counts: Float64Array;
}

/** Executions that ended through this engine, by lane, over the last minute. In memory only: each engine has its own. */
export class Throughput {
	readonly #rings = new Map<string, Ring>();

	/** Counts the endings of a unit that was committed. */
	take(unit: UnitDraft): void {
		for (const event of unit.events) {
			if (!ENDINGS.has(event.type)) continue;
			const record = unit.writeOf(executionKey(event.executionId))?.record as ExecutionRecord | undefined;
			if (record) this.#count(ringName(record.namespace, record.lane), Math.floor(event.at / 1000));
		}
	}

	perMinute(namespace: string, lane: string, now: number): number {
		const name = ringName(namespace, lane);
		const ring = this.#rings.get(name);
		if (!ring) return 0;
		const since = Math.floor(now / 1000) - SECONDS;
		let sum = 0;
		ring.seconds.forEach((second, slot) => {
			if (second > since) sum += ring.counts[slot] ?? 0;
		});
		if (sum === 0) this.#rings.delete(name);
		return sum;
	}

	#count(name: string, second: number): void {
		let ring = this.#rings.get(name);
		if (!ring) {
			ring = { seconds: new Float64Array(SECONDS), counts: new Float64Array(SECONDS) };
			this.#rings.set(name, ring);
		}
		const slot = second % SECONDS;
		const same = ring.seconds[slot] === second;
		ring.seconds[slot] = second;
		ring.counts[slot] = (same ? (ring.counts[slot] ?? 0) : 0) + 1;
	}
}

/** Namespaces hold no comma. */
const ringName = (namespace: string, lane: string): string => `${namespace},${lane}`;
