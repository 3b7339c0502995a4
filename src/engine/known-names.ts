import type { Clock } from "../contract/clock.ts";

export interface KnownNamesOptions {
	/** Names a namespace may have. */
	most: number;
	clock: Clock;
	/** Reads the names there are from the store. */
	read(namespace: string, add: (name: string) => void): Promise<unknown>;
	onFailure(error: unknown): void;
}

interface Names {
	/** When each was last let in here; a time that never was for those the store told of. */
	known: Map<string, number>;
	readAt: number;
	reading: boolean;
}

/** The store is asked again after this long at the soonest. */
const AGAIN_MS = 10_000;
/** What was let in may take as long to be stored: until then the store knows nothing of it. */
const STORED_MS = 30_000;
/** Names kept in all, and their characters; beyond it what is known is gathered anew. */
const MOST_KEPT = 500_000;
const MOST_CHARS = 16 * 1024 * 1024;
const NEVER = Number.NEGATIVE_INFINITY;

/**
 * Names in use, by namespace: those let in here, and those the store was found to have. Names that are no longer in use
 * are let go when the store is asked again, which is done in good time before there is no room. Few names are not worth
 * a question: a namespace that never brings many is never asked about.
 */
export class KnownNames {
	readonly most: number;
	readonly #options: KnownNamesOptions;
	readonly #names = new Map<string, Names>();
	#kept = 0;
	#chars = 0;

	constructor(options: KnownNamesOptions) {
		this.most = options.most;
		this.#options = options;
	}

	/** Whether this name is in use, or may be from now on. */
	admit(namespace: string, name: string): boolean {
		let names = this.#names.get(namespace);
		if (names?.known.has(name)) return true;
		if (!names) this.#names.set(namespace, (names = { known: new Map(), readAt: NEVER, reading: false }));
		if (this.#isWorthAsking(names)) this.#ask(namespace, names);
		if (names.known.size >= this.most) return false;
		names.known.set(name, this.#options.clock.monotonic());
		this.#kept += 1;
		this.#chars += name.length;
		if (this.#kept > MOST_KEPT || this.#chars > MOST_CHARS) this.#forgetAll();
		return true;
	}

	#isWorthAsking({ known, readAt, reading }: Names): boolean {
		if (reading || known.size < this.most / 10) return false;
		if (readAt === NEVER) return true;
		return known.size >= 0.9 * this.most && this.#options.clock.monotonic() - readAt >= AGAIN_MS;
	}

	#ask(namespace: string, names: Names): void {
		const now = this.#options.clock.monotonic();
		const found = new Map<string, number>();
		names.reading = true;
		names.readAt = now;
		this.#options
			.read(namespace, (name) => found.set(name, NEVER))
			.then(() => {
				if (this.#names.get(namespace) !== names) return;
				for (const [name, at] of names.known) if (at > now - STORED_MS) found.set(name, at);
				this.#kept += found.size - names.known.size;
				this.#chars += charsOf(found) - charsOf(names.known);
				names.known = found;
			})
			.catch(this.#options.onFailure)
			.finally(() => {
				names.reading = false;
			});
	}

	#forgetAll(): void {
		this.#names.clear();
		this.#kept = 0;
		this.#chars = 0;
	}
}

function charsOf(names: ReadonlyMap<string, unknown>): number {
	let chars = 0;
	for (const name of names.keys()) chars += name.length;
	return chars;
}
