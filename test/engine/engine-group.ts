import { Engine, type EngineOptions } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import type { Notice, Store } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** An engine of a group, as if in a process of its own. */
export interface Member {
	engine: Engine;
	backend: LocalBackend;
	/** The process ends without a word: nothing is heard of it or by it any more. */
	die(): void;
	/** Whether notices do not reach it. */
	isDeaf: boolean;
	/** What it asked the store, by name. */
	calls: Record<string, number>;
}

/** Engines on one store, each with a connection of its own. */
export class EngineGroup {
	readonly clock = new VirtualClock();
	readonly store: MemoryStore;
	readonly members: Member[] = [];
	readonly #living = new Set<Member>();

	constructor(partitions: number) {
		this.store = new MemoryStore(partitions, this.clock.now, true);
		this.clock.watch(() => [...this.#living].some(({ engine }) => !engine.idle));
	}

	async start(engineId: string, options: Partial<EngineOptions> = {}): Promise<Member> {
		const calls: Record<string, number> = {};
		let dead = false;
		const engine = new Engine({
			store: connect(
				this.store,
				calls,
				() => dead,
				() => dead || member.isDeaf,
			),
			clock: this.clock,
			engineId,
			...options,
		});
		const backend = new LocalBackend({ engine, actor: engineId, retentionMs: 0 });
		const die = () => {
			dead = true;
			this.#living.delete(member);
		};
		const member: Member = { engine, backend, calls, die, isDeaf: false };
		this.members.push(member);
		this.#living.add(member);
		await engine.start();
		return member;
	}

	/** Lets every engine beat often enough that all know of all. */
	async meet(): Promise<void> {
		await this.clock.advance(8000);
	}

	/** It was closed by the test itself. */
	forget(member: Member): void {
		this.#living.delete(member);
	}

	async close(): Promise<void> {
		for (const member of this.#living) await member.engine.close();
	}
}

function connect(
	store: MemoryStore,
	calls: Record<string, number>,
	isDead: () => boolean,
	isDeaf: () => boolean,
): Store {
	const listeners: ((notice: Notice) => void)[] = [];
	store.onNotice((notice) => {
		if (!isDeaf()) for (const listener of listeners) listener(notice);
	});
	return new Proxy<Store>(store, {
		get(_, name: keyof Store) {
			if (name === "onNotice") return (listener: (notice: Notice) => void) => listeners.push(listener);
			if (name === "close") return async () => void listeners.splice(0);
			const member = (store as Store)[name] as unknown;
			if (typeof member !== "function") return member;
			return (...given: unknown[]) => {
				calls[name] = (calls[name] ?? 0) + 1;
				return isDead() ? new Promise(() => {}) : (member.apply(store, given) as unknown);
			};
		},
	});
}
