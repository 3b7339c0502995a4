import { auditFlow } from "../../kernel/flows/auditing.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { FLOWS, namespaceOfFlows } from "../../kernel/placement.ts";
import type { QueuePosition } from "../../store/port.ts";
import type { AskPartition } from "../duties/index-walk.ts";
import { PartitionRounds } from "../duties/partition-rounds.ts";
import type { Scanner } from "../duties/scanner.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { readWholeFlow } from "./whole-flow.ts";

/** Questions to the store in one pass. */
const CALLS_PER_PASS = 200;
const FLOWS_AT_ONCE = 100;
/** Partitions in which nothing has happened since the start that a pass looks at. */
const FIRST_LOOKS = 4;

export interface DependencyReconcilerOptions {
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	/** Whether scanners here may act for a namespace. */
	isOurs(namespace: string): boolean;
	/** Told what is not as it should be. */
	onFound(problems: readonly string[]): void;
}

/** Where a walk over the flows of a partition has come to. */
interface Walk {
	queues: string[];
	after: QueuePosition | undefined;
}

/**
 * Proves that flows are what their members say, some of them in every pass. It repairs nothing: whatever ends, starts or
 * skips a member does all that follows from it in the same step, so what it finds is a bug to be told of.
 */
export class DependencyReconciler implements Scanner {
	readonly name = "dependency_reconciler";
	readonly failure = "flows could not be checked";
	readonly #options: DependencyReconcilerOptions;
	readonly #rounds = new PartitionRounds(FIRST_LOOKS);
	/** Walks that are not at their end yet. */
	readonly #walks = new Map<number, Walk>();
	#calls = 0;

	constructor(options: DependencyReconcilerOptions) {
		this.#options = options;
	}

	/** Returns how many flows it found something about. */
	async runOnce(own: readonly number[], changed: readonly number[]): Promise<number> {
		this.#calls = 0;
		let found = 0;
		for (const partition of this.#rounds.next(own, changed)) {
			if (this.#calls >= CALLS_PER_PASS) break;
			found += await this.#walk(partition);
		}
		this.#rounds.found(this.#walks.keys());
		return found;
	}

	async #walk(partition: number): Promise<number> {
		const ask = this.#asker(partition);
		const walk = this.#walks.get(partition) ?? { queues: await this.#queuesOf(ask), after: undefined };
		this.#walks.set(partition, walk);
		let found = 0;
		while (this.#calls < CALLS_PER_PASS) {
			const [queue] = walk.queues;
			if (queue === undefined) {
				this.#walks.delete(partition);
				break;
			}
			const { after } = walk;
			const { entries } = await ask((store, at) => store.first(at, queue, FLOWS_AT_ONCE, after));
			for (const entry of entries) {
				walk.after = entry;
				found += Number(await this.#examine(ask, entry.key));
				if (this.#calls >= CALLS_PER_PASS) return found;
			}
			if (entries.length === FLOWS_AT_ONCE) continue;
			walk.queues.shift();
			walk.after = undefined;
		}
		return found;
	}

	async #examine(ask: AskPartition, flowId: string): Promise<boolean> {
		const whole = await readWholeFlow(ask, this.#options.kernel, flowId);
		const problems = whole ? auditFlow(whole) : [];
		if (problems.length > 0) this.#options.onFound(problems);
		return problems.length > 0;
	}

	async #queuesOf(ask: AskPartition): Promise<string[]> {
		const { queues } = await ask((store, partition) => store.queues(partition, FLOWS));
		return queues.filter((queue) => this.#options.isOurs(namespaceOfFlows(queue)));
	}

	#asker(partition: number): AskPartition {
		const runner = this.#options.runners[partition] as PartitionRunner;
		return (question) => {
			this.#calls += 1;
			return runner.ask(question);
		};
	}
}
