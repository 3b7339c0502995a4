import type { BatchReport } from "./partition/batch-sender.ts";
import type { UnitDraft } from "./partition/unit-draft.ts";

/** Someone who counts what an engine does. Called on the hot path: an observer adds up and returns. */
export interface EngineObserver {
	/** A batch came back from the store. */
	batch(report: BatchReport): void;
	/** A unit was applied; its commands carry their outcomes. */
	unit(unit: UnitDraft): void;
	/** A partition could not be read and was passed over. */
	skipped(): void;
	/** A fault the engine survived. */
	fault(): void;
}
