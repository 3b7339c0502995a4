import type { BlockingCause } from "../../kernel/blocking.ts";
import { BLOCKED, blockedQueueSubject } from "../../kernel/placement.ts";
import { isOfFilter, type ScannerFilter } from "../../kernel/scanner-filter.ts";
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

/** How many partitions it has never looked at a pass looks at. */
const FIRST_LOOKS = 32;

/**
 * The net under everything that releases work when its cause is gone. Of the partitions of this engine only those are
 * looked at that have changed, that held something back the last time, or that were never looked at, a few of the last in
 * each pass.
 */
export class UnblockScanner implements Scanner {
	readonly name = "unblock";
	readonly failure = "blocked work could not be looked over";
	readonly #options: UnblockScannerOptions;
	/** Partitions a pass has looked at, and those where it found something that waits. */
	readonly #looked = new Set<number>();
	#holding: ReadonlySet<number> = new Set();

	constructor(options: UnblockScannerOptions) {
		this.#options = options;
	}

	async runOnce(own: readonly number[], changed: readonly number[]): Promise<number> {
		const { mover, releases, scannerFilter } = this.#options;
		const fresh = own.filter((partition) => !this.#looked.has(partition)).slice(0, FIRST_LOOKS);
		const wanted = new Set([...changed, ...this.#holding, ...fresh]);
		for (const partition of fresh) this.#looked.add(partition);
		const found = await mover.queuesIn(
			own.filter((partition) => wanted.has(partition)),
			BLOCKED,
		);
		this.#holding = new Set(found.map(([partition]) => partition));
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
