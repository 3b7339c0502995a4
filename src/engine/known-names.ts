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
	known: Set<string>;
	/** Let in while the store is asked. */
	added: Set<string> | undefined;
	readAt: number;
}

/** The store is asked again after this long at the soonest. */
const AGAIN_MS = 10_000;
/** Names kept in all; beyond it what is known is gathered anew. */
const MOST_KEPT = 500_000;

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

	constructor(options: KnownNamesOptions) {
		this.most = options.most;
		this.#options = options;
	}

	/** Whether this name is in use, or may be from now on. */
	admit(namespace: string, name: string): boolean {
		let names = this.#names.get(namespace);
		if (names?.known.has(name)) return true;
		if (!names) this.#names.set(namespace, (names = { known: new Set(), added: undefined, readAt: -Infinity }));
		if (this.#isWorthAsking(names)) this.#ask(namespace, names);
		if (names.known.size >= this.most) return false;
		names.known.add(name);
		names.added?.add(name);
		if (++this.#kept > MOST_KEPT) this.#forgetAll();
		return true;
	}

	#isWorthAsking({ known, added, readAt }: Names): boolean {
		if (added || known.size < this.most / 10) return false;
		if (readAt === -Infinity) return true;
		return known.size >= 0.9 * this.most && this.#options.clock.monotonic() - readAt >= AGAIN_MS;
	}

	#ask(namespace: string, names: Names): void {
		const added = new Set<string>();
		const found = new Set<string>();
		names.added = added;
		names.readAt = this.#options.clock.monotonic();
		this.#options
			.read(namespace, (name) => found.add(name))
			.then(() => {
				for (const name of added) found.add(name);
				this.#kept += found.size - names.known.size;
				names.known = found;
			})
			.catch(this.#options.onFailure)
			.finally(() => {
				names.added = undefined;
			});
	}

	#forgetAll(): void {
		this.#names.clear();
		this.#kept = 0;
	}
}
