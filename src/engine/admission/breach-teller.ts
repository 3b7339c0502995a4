import { budgetRefusal } from "../../kernel/admission/budget-room.ts";
import { trustedSlot } from "../../kernel/ids.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { holdersQueue } from "../../kernel/placement.ts";
import type { Breach, BudgetRecord } from "../../kernel/records/budget.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { slotOfGuard } from "../../kernel/records/guard.ts";
import { type HoldRecord, holdSubject } from "../../kernel/records/hold.ts";
import type { QueuePosition } from "../../store/port.ts";
import { mapBounded } from "../bounded.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { PARTITION_PATIENCE_MS } from "../partition/store-line.ts";

export interface BreachTellerOptions {
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	nextUuid(): string;
	/** Told of holders that go on, whom nothing else tells. */
	onTold(record: ExecutionRecord): void;
}

const PAGE = 100;
const IN_FLIGHT = 16;

/** Tells all that was admitted under a budget that it refused a report, and has them treated as it says. */
export class BreachTeller {
	readonly #options: BreachTellerOptions;

	constructor(options: BreachTellerOptions) {
		this.#options = options;
	}

	/** May be done again: whoever was told is not told twice. */
	async tell(budget: BudgetRecord, { number, dimension }: Breach): Promise<void> {
		const { namespace, id, onHard: action } = budget;
		const guard = { kind: "budget", namespace, id } as const;
		const home = this.#runner(slotOfGuard(guard));
		const reason = budgetRefusal(budget, undefined)?.detail ?? `budget ${id}: ${dimension} is exhausted`;
		const queue = holdersQueue(guard);
		let after: QueuePosition | undefined;
		do {
			const position = after;
			const { entries } = await home.ask((store, at) => store.first(at, queue, PAGE, position), PARTITION_PATIENCE_MS);
			const holders = await this.#holders(
				home,
				entries.map(({ key }) => key),
			);
			await mapBounded([...this.#byPartition(holders)], IN_FLIGHT, async ([partition, some]) => {
				const command = {
					op: "breach",
					budget: id,
					dimension,
					action,
					reason,
					holders: some,
					actor: "breach",
				} as const;
				const outcome = await this.#runner(partition).run(command, PARTITION_PATIENCE_MS);
				if (!outcome.ok) throw new Error(outcome.code);
				for (const record of outcome.told) this.#options.onTold(record);
			});
			after = entries.length < PAGE ? undefined : entries.at(-1);
		} while (after);
		await home.run({ op: "breachTold", namespace, id, number }, PARTITION_PATIENCE_MS);
	}

	async #holders(home: PartitionRunner, keys: string[]): Promise<Holder[]> {
		if (keys.length === 0) return [];
		const { records } = await home.ask((store, at) => store.read(at, keys), PARTITION_PATIENCE_MS);
		return records.flatMap(({ key, version, doc }) => {
			if (version === 0) return [];
			const { executionId } = this.#options.kernel.decode(key, doc) as HoldRecord;
			const { nextUuid } = this.#options;
			return executionId === ""
				? []
				: [{ executionId, holdId: holdSubject(key).holdId, uuids: [nextUuid(), nextUuid()] }];
		});
	}

	#byPartition(holders: readonly Holder[]): Map<number, Holder[]> {
		const { length } = this.#options.runners;
		const groups = new Map<number, Holder[]>();
		for (const holder of holders) {
			const partition = trustedSlot(holder.executionId) % length;
			const group = groups.get(partition);
			if (group) group.push(holder);
			else groups.set(partition, [holder]);
		}
		return groups;
	}

	#runner(slot: number): PartitionRunner {
		const { runners } = this.#options;
		return runners[slot % runners.length] as PartitionRunner;
	}
}

interface Holder {
	executionId: string;
	holdId: string;
	uuids: readonly string[];
}
