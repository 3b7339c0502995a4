import type { Clock } from "../../contract/clock.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import type { Errand } from "../../kernel/ticking.ts";
import { GuardReleaser } from "../blocking/guard-releaser.ts";
import type { ErrandKinds } from "../duties/errand-queue.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { Admissions } from "./admissions.ts";
import { BreachTeller } from "./breach-teller.ts";
import { GuardDirectory } from "./guard-directory.ts";
import { OutboxSender } from "./outbox-sender.ts";

/** Budgets a namespace may have, and as many quotas. */
const MOST_GUARDS = 10_000;

export interface GuardServiceOptions {
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	clock: Clock;
	most: number | undefined;
	/** What waits could not be released; it is tried again. */
	onFailure(error: unknown): void;
	nextUuid(): string;
	/** Told of holders that go on after a breach, whom nothing else tells. */
	onTold(record: ExecutionRecord): void;
}

type GuardErrand = Exclude<Errand, { type: "spread_lane" }>;

/** All that an engine does about budgets and quotas: who may start under them, what comes back, who waits and who is told. */
export class GuardService {
	/** How many of a kind a namespace may have. */
	readonly most: number;
	readonly directory: GuardDirectory;
	readonly admissions: Admissions;
	readonly outbox: OutboxSender;
	readonly releaser: GuardReleaser;
	readonly #breaches: BreachTeller;

	constructor({ runners, kernel, clock, most = MOST_GUARDS, onFailure, nextUuid, onTold }: GuardServiceOptions) {
		const runnerOf = (slot: number) => runners[slot % runners.length] as PartitionRunner;
		this.most = most;
		this.directory = new GuardDirectory({ runners, kernel, clock });
		this.admissions = new Admissions(runnerOf);
		this.outbox = new OutboxSender(runnerOf, clock);
		this.releaser = new GuardReleaser({ runners, kernel, onFailure });
		this.#breaches = new BreachTeller({ runners, kernel, nextUuid, onTold });
	}

	get idle(): boolean {
		return this.outbox.idle;
	}

	/** What ticks of budgets, quotas and messages to them start in other partitions. */
	errands(line: { inFlight: number; backlog: number }): ErrandKinds<GuardErrand> {
		return {
			send: { ...line, run: ({ key, record }) => this.outbox.send([{ key, record }]) },
			release: {
				...line,
				// A slot that comes free while what waits is gone through would else wait for the next call, seconds later.
				isDoneAgain: true,
				run: async ({ guard, releaseAt }) => {
					await this.releaser.release(guard, releaseAt);
				},
			},
			breach: { ...line, run: ({ budget, breach }) => this.#breaches.tell(budget, breach) },
		};
	}
}
