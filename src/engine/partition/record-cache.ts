import type { Placement } from "../../kernel/placement.ts";
import type { UnitDraft } from "./unit-draft.ts";

/** A record as this engine last saw it. What it says is checked at commit, so it may be stale, never wrong for long. */
export interface CachedRecord {
	/** Undefined when absent, or when it cannot be read. */
	record: object | undefined;
	version: number;
	places: readonly Placement[];
	/** Why the stored document cannot be read. */
	corrupt?: unknown;
	/** Set while a write to it is on its way to the store. */
	unit?: UnitDraft | undefined;
}

/** Bounded: the entry written or fetched longest ago goes first, unless a write to it is on its way. */
export class RecordCache {
	readonly #entries = new Map<string, CachedRecord>();
	readonly #capacity: number;

	constructor(capacity: number) {
		this.#capacity = capacity;
	}

	get(key: string): CachedRecord | undefined {
		return this.#entries.get(key);
	}

	set(key: string, entry: CachedRecord): void {
		// Deleted first, so that it becomes the youngest.
		this.#entries.delete(key);
		this.#entries.set(key, entry);
	}

	/** `set` of what is known not to be there. */
	add(key: string, entry: CachedRecord): void {
		this.#entries.set(key, entry);
	}

	delete(key: string): void {
		this.#entries.delete(key);
	}

	clear(): void {
		this.#entries.clear();
	}

	/** Keeps what is needed next, however much that is: a rule that is never given all it reads would never run. */
	trim(isNeeded: (key: string) => boolean): void {
		if (this.#entries.size <= this.#capacity) return;
		for (const [key, entry] of this.#entries) {
			if (this.#entries.size <= this.#capacity) return;
			if (!entry.unit && !isNeeded(key)) this.#entries.delete(key);
		}
	}
}
