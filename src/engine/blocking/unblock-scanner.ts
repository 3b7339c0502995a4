import type { BlockingCause } from "../../kernel/blocking.ts";
import { BLOCKED, blockedQueueSubject } from "../../kernel/placement.ts";
import { isOfFilter, type ScannerFilter } from "../../kernel/scanner-filter.ts";
import { PartitionRounds } from "../duties/partition-rounds.ts";
import type { Scanner } from "../duties/scanner.ts";
import type { BlockedMover, Place } from "./blocked-mover.ts";

/** Releases what some cause no longer keeps, of what was found to wait for it; returns how many that were. */
export type Release = (places: readonly Place[], filter: ScannerFilter | undefined) => Promise<number>;

export interface UnblockScannerOptions {
	mover: BlockedMover;
	/** What passes are restricted to; left out when they are not. */
	scannerFilter: ScannerFilter | undefined;
	releases: Readonly<Record<BlockingCause, Release>>;
}

/** The net under everything that releases work when its cause is gone. */
export class UnblockScanner implements Scanner {
	readonly name = "unblock";
	readonly failure = "blocked work could not be checked";
	readonly #options: UnblockScannerOptions;
	readonly #rounds = new PartitionRounds(32);

	constructor(options: UnblockScannerOptions) {
		this.#options = options;
	}

	async runOnce(own: readonly number[], changed: readonly number[]): Promise<number> {
		const { mover, releases, scannerFilter } = this.#options;
		const found = await mover.queuesIn(this.#rounds.next(own, changed), BLOCKED);
		this.#rounds.found(found.map(([partition]) => partition));
		let moved = 0;
		for (const cause of Object.keys(releases) as BlockingCause[]) {
			const places = found.filter(([, queue]) => this.#isFor(queue, cause));
			if (places.length > 0) moved += await releases[cause](places, scannerFilter);
		}
		return moved;
	}

	#isFor(queue: string, cause: BlockingCause): boolean {
		const subject = blockedQueueSubject(queue);
		return subject.cause === cause && isOfFilter(this.#options.scannerFilter, subject.namespace);
	}
}
