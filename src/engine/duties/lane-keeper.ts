import { refusalError } from "../../contract/errors.ts";
import type { Outcome, Refusal } from "../../kernel/outcome.ts";
import { type LaneHomeRecord, slotOfLane } from "../../kernel/records/lane.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

/** Carries changes of lanes from their home to every partition. */
export class LaneKeeper {
	readonly #runners: readonly PartitionRunner[];

	constructor(runners: readonly PartitionRunner[]) {
		this.#runners = runners;
	}

	/** Resolves when no partition goes by what the lane was before. */
	async change(
		namespace: string,
		lane: string,
		change: Partial<Pick<LaneHomeRecord, "state" | "agingMs">>,
	): Promise<LaneHomeRecord> {
		const { home } = accepted(await this.#home(namespace, lane).run({ op: "changeLane", namespace, lane, ...change }));
		// A change that changes nothing may find an earlier one still on its way.
		if (home.spreadAt > 0) await this.spread(home);
		return home;
	}

	/**
	 * Gives every partition its copy and then tells the home, which would otherwise have it done again. One that does not
	 * answer keeps no other from its copy.
	 */
	async spread(home: LaneHomeRecord, patienceMs?: number): Promise<void> {
		const { namespace, lane, state, agingMs, revision, stateSince } = home;
		const copy = { op: "copyLane" as const, namespace, lane, state, agingMs, revision, stateSince };
		const answers = await Promise.allSettled(this.#runners.map((runner) => runner.run(copy, patienceMs)));
		for (const answer of answers) {
			if (answer.status === "rejected") throw answer.reason;
			accepted(answer.value);
		}
		const confirm = { op: "confirmLane" as const, namespace, lane, revision };
		accepted(await this.#home(namespace, lane).run(confirm, patienceMs));
	}

	#home(namespace: string, lane: string): PartitionRunner {
		return this.#runners[slotOfLane(namespace, lane) % this.#runners.length] as PartitionRunner;
	}
}

function accepted<O extends Outcome>(outcome: O): Extract<O, { ok: true }> {
	if (outcome.ok) return outcome as Extract<O, { ok: true }>;
	throw refusalError(outcome as Refusal);
}
