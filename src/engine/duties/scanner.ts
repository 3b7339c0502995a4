import type { FaultClass } from "../fault-log.ts";
import type { ScannerName } from "./duty-log.ts";

/** Something that is done now and then over an engine's partitions, whether or not anything called for it. */
export interface Scanner {
	readonly name: ScannerName;
	/** What is told when a pass breaks down; the next one comes all the same. */
	readonly failure: FaultClass;
	/**
	 * One bounded pass over the partitions that are this engine's, of which some have changed since the last; returns how
	 * many items it dealt with.
	 */
	runOnce(own: readonly number[], changed: readonly number[]): Promise<number>;
	close?(): void;
}
