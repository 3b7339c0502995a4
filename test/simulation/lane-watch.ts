import type { ExecutionEvent } from "../../src/kernel/events.ts";
import { kernel } from "../../src/kernel/kernel.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import { type LaneRecord, laneKey } from "../../src/kernel/records/lane.ts";
import type { Unit } from "../../src/store/port.ts";
import type { SimPartition } from "./sim-store.ts";
import { Violation } from "./violation.ts";

/** Sees to it that a lane is what was answered, from the answer on. */
export class LaneWatch {
	/** What was answered last, and nobody has asked to change since. */
	readonly #answered = new Map<string, "paused" | "draining">();

	/** A change was answered, and nobody has asked for anything else since. */
	answered(namespace: string, lane: string, state: "paused" | "draining"): void {
		this.#answered.set(nameOf(namespace, lane), state);
	}

	/** Somebody asks for something else. */
	mayChange(namespace: string, lane: string): void {
		this.#answered.delete(nameOf(namespace, lane));
	}

	check(partition: SimPartition, unit: Unit, event: ExecutionEvent, { namespace, lane }: ExecutionRecord): void {
		const { type, executionId } = event;
		const state = this.#answered.get(nameOf(namespace, lane));
		if (type === "created" && state === "draining")
			throw new Violation(`${executionId} was taken in by lane ${lane} of ${namespace} after it drained`);
		if (type !== "claimed" && type !== "granted") return;
		const where = `${executionId} was ${type} from lane ${lane} of ${namespace}`;
		if (state === "paused") throw new Violation(`${where} after its pause was answered`);
		const key = laneKey(namespace, lane);
		const copy = unit.put.some((put) => put.key === key) ? undefined : partition.records.get(key);
		if (copy && (kernel.decode(key, copy.doc) as LaneRecord).state === "paused")
			throw new Violation(`${where} while it was paused`);
	}
}

const nameOf = (namespace: string, lane: string): string => `${namespace} ${lane}`;
