import type { Clock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { blockedQueuePrefix, eligibleQueue, listQueueParts, listQueuePrefix } from "../kernel/placement.ts";
import type { CreateCommand } from "../kernel/rules/create.ts";
import { mapBounded } from "./bounded.ts";
import type { WorkFinder } from "./claims/work-finder.ts";
import { KnownNames } from "./known-names.ts";
import type { PartitionRunner } from "./partition/partition-runner.ts";
import { setApart } from "./reading/lane-listing.ts";

/** Lanes a namespace may have, and kinds that may wait in one of them in a partition. */
export const MOST_LANES = 10_000;
export const MOST_KINDS = 10_000;

const PARTITIONS_AT_ONCE = 8;
const NONE: readonly string[] = [];

export interface NameLimitsOptions {
	runners: readonly PartitionRunner[];
	clock: Clock;
	work(): WorkFinder;
	most?: { lanes?: number | undefined; kinds?: number | undefined };
	onFailure(error: unknown): void;
}

/**
 * Keeps a namespace from making up names without end: every lane and every kind that waits has queues of its own, which
 * lists, looks and claims go through. Work of a kind that waits already passes with one look into memory. Other engines
 * let names in too, and the store is asked only by one who has let in many: so the numbers are not exact.
 */
export class NameLimits {
	readonly #options: NameLimitsOptions;
	readonly #mostKinds: number;
	readonly #lanes: KnownNames;
	/** What work requires of workers, by namespace: what nobody offers waits in queues named so. */
	readonly #requirements: KnownNames;

	constructor(options: NameLimitsOptions) {
		const { runners, clock, onFailure, most = {} } = options;
		this.#options = options;
		this.#mostKinds = most.kinds ?? MOST_KINDS;
		this.#lanes = new KnownNames({
			most: most.lanes ?? MOST_LANES,
			clock,
			onFailure,
			read: (namespace, add) =>
				mapBounded(runners, PARTITIONS_AT_ONCE, async (runner) => {
					const { queues } = await runner.ask((store, at) => store.queues(at, listQueuePrefix(namespace)));
					for (const queue of queues) add(listQueueParts(namespace, queue).lane);
					for (const lane of await setApart(runner, namespace)) add(lane);
				}),
		});
		this.#requirements = new KnownNames({
			most: this.#mostKinds,
			clock,
			onFailure,
			read: (namespace, add) =>
				mapBounded(runners, PARTITIONS_AT_ONCE, async (runner) => {
					const prefix = blockedQueuePrefix("route", namespace);
					const { queues } = await runner.ask((store, at) => store.queues(at, prefix));
					for (const queue of queues) add(queue.slice(prefix.length));
				}),
		});
	}

	/** Refuses a create that would bring one name too many. */
	check(partition: number, command: CreateCommand): void {
		const { namespace, lane, kind, requiredCapabilities = NONE, budgets, quotas } = command;
		const work = this.#options.work();
		const isGuarded = budgets !== undefined || quotas !== undefined;
		const queue = eligibleQueue({ namespace, lane, kind, requiredCapabilities, isGuarded });
		if (work.isHot(partition, queue)) return;
		this.checkLane(namespace, lane);
		if (!work.hasRoomBeside(partition, queue, this.#mostKinds)) {
			throw tooMany("too_many_kinds", this.#mostKinds, `kinds of work wait in lane ${lane} already`, { lane });
		}
		if (requiredCapabilities.length > 0 && !this.#requirements.admit(namespace, requiredCapabilities.join(" "))) {
			const what = "different sets of required capabilities are waited for already";
			throw tooMany("too_many_kinds", this.#mostKinds, what, { field: "requiredCapabilities" });
		}
	}

	/** Refuses a lane that would be one too many. */
	checkLane(namespace: string, lane: string): void {
		if (this.#lanes.admit(namespace, lane)) return;
		throw tooMany("too_many_lanes", this.#lanes.most, `lanes are in use in namespace ${namespace} already`, {});
	}
}

const tooMany = (
	code: "too_many_lanes" | "too_many_kinds",
	limit: number,
	what: string,
	details: object,
): FlowFabricError => new FlowFabricError(code, { message: `${limit} ${what}`, details: { limit, ...details } });
