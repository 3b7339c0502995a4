import { Engine, type EngineOptions } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** What a store was asked, by the name of the call. */
export interface Asked {
	calls: number;
	/** The most on their way at the same time. */
	atOnce: number;
	/** The most asked for in one call: keys, or entries. */
	most: number;
	/** Queues, or how their names begin. */
	names: string[];
}

const WATCHED = ["read", "first", "last", "queues", "queueSizes"] as const;
type Watched = (typeof WATCHED)[number];

/** A memory store that answers after a turn of the event loop, and tells what it was asked since it was last told to. */
export class WatchedStore extends MemoryStore {
	asked = noneAsked();
	#away: Record<string, number> = {};

	constructor(partitions: number, now: () => number, shared = false) {
		super(partitions, now, shared);
		for (const name of WATCHED) this.#watch(name);
	}

	askedSince(): Record<Watched, Asked> {
		const { asked } = this;
		this.asked = noneAsked();
		return asked;
	}

	#watch(name: Watched): void {
		const call = (super[name] as (...given: unknown[]) => Promise<unknown>).bind(this);
		const watched = async (...given: unknown[]) => {
			const asked = this.asked[name];
			asked.calls += 1;
			const [, about, count] = given;
			if (typeof about === "string") asked.names.push(about);
			asked.most = Math.max(asked.most, Array.isArray(about) ? about.length : Number(count ?? 0));
			this.#away[name] = (this.#away[name] ?? 0) + 1;
			asked.atOnce = Math.max(asked.atOnce, this.#away[name]);
			await new Promise(setImmediate);
			try {
				return await call(...given);
			} finally {
				this.#away[name] = (this.#away[name] ?? 1) - 1;
			}
		};
		Object.assign(this, { [name]: watched });
	}
}

const noneAsked = (): Record<Watched, Asked> =>
	Object.fromEntries(
		WATCHED.map((name) => [name, { calls: 0, atOnce: 0, most: 0, names: [] as string[] }]),
	) as unknown as Record<Watched, Asked>;

/** An engine on a store that is watched; another may be started on the same store. */
export async function stage(options: Partial<EngineOptions> & { partitions?: number; shared?: boolean } = {}) {
	const { partitions = 1, shared = false, ...rest } = options;
	const clock = new VirtualClock();
	const store = new WatchedStore(partitions, clock.now, shared);
	const start = async () => {
		const engine = new Engine({ store, clock, ...rest });
		clock.watch(() => !engine.idle);
		await engine.start();
		return new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	};
	return { clock, store, start, backend: await start() };
}
