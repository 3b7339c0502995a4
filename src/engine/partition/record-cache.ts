import type { Placement } from "../../kernel/placement.ts";
import type { UnitDraft } from "./unit-draft.ts";

/** A record as this engine last saw it. What it says is checked at commit, so it may be stale, never wrong for long. */
export interface CachedRecord {
	/** Undefined when absent, or when it cannot be read. */
	record: object | undefined;
	version: number;
	places: readonly Placement[];
	/** How long its document is, as far as it has been in the store. */
	chars: number;
	/** Why the stored document cannot be read. */
	corrupt?: unknown;
	/** Set while a write to it is on its way to the store. */
	unit?: UnitDraft | undefined;
}

/** What records take on average, at most: fewer of those that are larger are kept. */
const CHARS_PER_RECORD = 1024;

/**
 * Bounded in number and in size, whatever tenants write into their records: the entry written or fetched longest ago goes
 * first, unless a write to it is on its way.
 */
export class RecordCache {
	readonly #entries = new Map<string, CachedRecord>();
	readonly #capacity: number;
	#chars = 0;

	constructor(capacity: number) {
		this.#capacity = capacity;
	}

	get(key: string): CachedRecord | undefined {
		return this.#entries.get(key);
	}

	set(key: string, entry: CachedRecord): void {
		// Deleted first, so that it becomes the youngest.
		this.delete(key);
		this.add(key, entry);
	}

	/** `set` of what is known not to be there. */
	add(key: string, entry: CachedRecord): void {
		this.#entries.set(key, entry);
		this.#chars += entry.chars;
	}

	/** A write to it has reached the store. */
	settle(entry: CachedRecord, version: number, chars: number): void {
		this.#chars += chars - entry.chars;
		entry.chars = chars;
		entry.version = version;
		entry.unit = undefined;
	}

	delete(key: string): void {
		const entry = this.#entries.get(key);
		if (!entry) return;
		this.#entries.delete(key);
		this.#chars -= entry.chars;
	}

	clear(): void {
		this.#entries.clear();
		this.#chars = 0;
	}

	/** Keeps what is needed next, however much that is: a rule that is never given all it reads would never run. */
	trim(isNeeded: (key: string) => boolean): void {
		if (!this.#isFull()) return;
		for (const [key, entry] of this.#entries) {
			if (!entry.unit && !isNeeded(key)) this.delete(key);
			if (!this.#isFull()) return;
		}
	}

	#isFull(): boolean {
		return this.#entries.size > this.#capacity || this.#chars > this.#capacity * CHARS_PER_RECORD;
	}
}
