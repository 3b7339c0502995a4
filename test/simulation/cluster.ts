import { FlowFabricError } from "../../src/contract/errors.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import type { ErrorCode } from "../../src/kernel/errors.ts";
import type { Kernel } from "../../src/kernel/kernel.ts";
import type { Random } from "./random.ts";
import { type SimNetwork, SimStore } from "./sim-store.ts";
import { Host } from "./world.ts";

/** An engine in its process. */
export interface Node {
	host: Host;
	backend: LocalBackend;
	store: SimStore;
	ready: boolean;
}

/** What a caller knows after a call: an answer, a refusal, or nothing because the reply or the engine was lost. */
export type Heard<T> = { kind: "ok"; value: T } | { kind: "refused"; code: ErrorCode } | { kind: "unknown" };

/** Several engines on one store, that come and go. */
export class Cluster {
	readonly nodes: Node[] = [];
	readonly #network: SimNetwork;
	readonly #random: Random;
	readonly #kernel: Kernel;
	readonly #latencies: readonly number[];
	readonly #makeBackend: (engine: Engine) => LocalBackend;
	readonly #sweepMs: number | undefined;
	#started = 0;
	#shares = "";
	/** The most often in a row that one command lost, over all engines. */
	worstLosses = 0;

	constructor(
		network: SimNetwork,
		kernel: Kernel,
		latencies: readonly number[],
		makeBackend: (engine: Engine) => LocalBackend,
		sweepMs?: number,
	) {
		this.#network = network;
		this.#random = network.random;
		this.#kernel = kernel;
		this.#latencies = latencies;
		this.#makeBackend = makeBackend;
		this.#sweepMs = sweepMs;
	}

	start(slot: number): void {
		this.#started += 1;
		const host = new Host(this.#network.world, `engine ${this.#started}`, 1 + (this.#random.next() - 0.5) / 500);
		const store = new SimStore(this.#network, host, this.#latencies[slot] as number);
		const engine = new Engine({
			store,
			clock: host,
			random: this.#random.next,
			randomHex: this.#random.hex,
			kernel: this.#kernel,
			engineId: host.name,
			cachedRecords: this.#random.pick([256, 100_000]),
			waitpointGraceMs: this.#random.pick([15_000, 86_400_000]),
			...(this.#sweepMs === undefined ? undefined : { sweepMs: this.#sweepMs }),
		});
		const node: Node = { host, backend: this.#makeBackend(engine), store, ready: false };
		this.nodes[slot] = node;
		const tryToStart = () => {
			engine.start().then(
				() => {
					node.ready = true;
				},
				() => host.setTimer(200, tryToStart),
			);
		};
		tryToStart();
	}

	crash(slot: number): void {
		this.nodes[slot]?.host.die();
	}

	/** Closes an engine as a deployment would, and ends its process when it is done. */
	leave(slot: number): void {
		const node = this.nodes[slot];
		if (!node?.host.alive || !node.ready) return;
		node.ready = false;
		node.backend.close().then(
			() => node.host.die(),
			() => node.host.die(),
		);
	}

	/** Whether engines have shared partitions out anew since this was asked last. */
	hasShifted(): boolean {
		const before = this.#shares;
		const up = this.nodes.filter((node) => node.host.alive && node.ready);
		this.#shares = up.map(({ host, backend }) => `${host.name}: ${backend.engine.share.partitions}`).join(", ");
		return before !== "" && before !== this.#shares;
	}

	/** Any engine that would answer. */
	someNode(): Node | undefined {
		const up = this.nodes.filter((node) => node.host.alive && node.ready);
		return up.length > 0 ? this.#random.pick(up) : undefined;
	}

	/** Calls an engine. Its crash, or a lost reply, leaves the caller without an answer. */
	async call<T>(node: Node, replyLost: number, question: (backend: LocalBackend) => Promise<T>): Promise<Heard<T>> {
		const unknown: Heard<T> = { kind: "unknown" };
		let stopWatching = () => {};
		const death = new Promise<Heard<T>>((resolve) => {
			stopWatching = node.host.onDeath(() => resolve(unknown));
		});
		const answer = question(node.backend).then(
			(value): Heard<T> => ({ kind: "ok", value }),
			(error: unknown): Heard<T> => {
				if (!(error instanceof FlowFabricError)) throw error;
				return error.retryable ? unknown : { kind: "refused", code: error.code };
			},
		);
		const heard = await Promise.race([answer, death]);
		stopWatching();
		for (const { backend } of this.nodes)
			this.worstLosses = Math.max(this.worstLosses, backend.engine.counters.worstLosses);
		return this.#random.chance(replyLost) ? unknown : heard;
	}
}
