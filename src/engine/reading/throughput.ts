import { ENDINGS } from "../../kernel/events.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import type { UnitDraft } from "../partition/unit-draft.ts";

const SECONDS = 60;
/** From this many lanes on, those in which nothing ends any more are looked for. */
const SWEEP_SIZE = 256;

/** How many things happened in each of the last seconds; a slot is used again after a minute. */
interface Ring {
	newest: number;
	seconds: Float64Array;
	counts: Float64Array;
}

/** Executions that ended through this engine, by lane, over the last minute. In memory only: each engine has its own. */
export class Throughput {
	readonly #rings = new Map<string, Ring>();
	#sweepAt = SWEEP_SIZE;

	/** Counts the endings of a unit that was committed. */
	take(unit: UnitDraft): void {
		for (const { executionId, at, body } of unit.events) {
			if (executionId === undefined || !ENDINGS.has(body.type)) continue;
			const record = unit.writeOf(executionKey(executionId))?.record as ExecutionRecord | undefined;
			if (record) this.#count(ringName(record.namespace, record.lane), Math.floor(at / 1000));
		}
	}

	perMinute(namespace: string, lane: string, now: number): number {
		const ring = this.#rings.get(ringName(namespace, lane));
		if (!ring) return 0;
		const since = Math.floor(now / 1000) - SECONDS;
		let sum = 0;
		ring.seconds.forEach((second, slot) => {
			if (second > since) sum += ring.counts[slot] ?? 0;
		});
		return sum;
	}

	#count(name: string, second: number): void {
		let ring = this.#rings.get(name);
		if (!ring) {
			if (this.#rings.size >= this.#sweepAt) this.#sweep(second);
			ring = { newest: second, seconds: new Float64Array(SECONDS), counts: new Float64Array(SECONDS) };
			this.#rings.set(name, ring);
		}
		ring.newest = Math.max(ring.newest, second);
		const slot = second % SECONDS;
		const same = ring.seconds[slot] === second;
		ring.seconds[slot] = second;
		ring.counts[slot] = (same ? (ring.counts[slot] ?? 0) : 0) + 1;
	}

	#sweep(second: number): void {
		for (const [name, { newest }] of this.#rings) if (newest <= second - SECONDS) this.#rings.delete(name);
		this.#sweepAt = Math.max(SWEEP_SIZE, 2 * this.#rings.size);
	}
}

/** Namespaces hold no comma. */
const ringName = (namespace: string, lane: string): string => `${namespace},${lane}`;
