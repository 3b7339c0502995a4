import type { Execution } from "../../src/contract/replies.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import type { Rules } from "../../src/kernel/kernel.ts";
import type { Outcome } from "../../src/kernel/outcome.ts";
import { Checker, Violation } from "./checker.ts";
import { Cluster, type Heard } from "./cluster.ts";
import { IntermediateStates } from "./intermediate-states.ts";
import { Random } from "./random.ts";
import { noFaults, type SimNetwork, SimPartition, type StoreBugs } from "./sim-store.ts";
import { type KernelBugs, simulatedKernel } from "./test-rules.ts";
import { World } from "./world.ts";

export interface EngineBugs {
	readsFromCache?: boolean;
}

export type Bugs = StoreBugs & KernelBugs & EngineBugs;

const MAX_LOSSES = 50;

/** What every part of a scenario shares: a world, a cluster on its store, and somebody who watches. */
export class Stage {
	readonly world = new World();
	readonly random: Random;
	readonly network: SimNetwork;
	readonly checker: Checker;
	readonly cluster: Cluster;
	/** Whether this seed is about several engines writing one record, and nothing else. */
	readonly hot: boolean;
	clockOffset = 1_700_000_000_000;
	replyLost = 0.05;
	/** No more faults: whatever was accepted is to come to its end. */
	calm = false;
	#counter = 0;
	#violation: unknown;

	constructor(seed: number, bugs: Bugs) {
		this.random = new Random(seed);
		const { random, world } = this;
		this.hot = seed % 10 === 7;
		const intermediate = new IntermediateStates();
		this.checker = new Checker(world, intermediate);
		const partitions = Array.from({ length: this.hot ? 1 : random.integer(1, 3) }, (_, n) => new SimPartition(n, bugs));
		for (const partition of partitions) {
			partition.onApplied = (unit, time) => this.checker.observe(partition, unit, time);
		}
		this.network = {
			world,
			random,
			partitions,
			clock: () => Math.floor(world.time + this.clockOffset),
			stores: new Set(),
			faults: this.hot
				? noFaults
				: {
						requestLost: random.pick([0, 0.01]),
						replyLost: random.pick([0, 0.02]),
						requestRepeated: random.pick([0, 0.03]),
						noticeLost: random.pick([0, 0.3]),
						conflictInvented: random.pick([0, 0.05]),
					},
		};
		const engines = this.hot ? 3 : random.integer(1, 3);
		const latencies = this.hot ? [0.5, 15, 25] : Array.from({ length: engines }, () => random.pick([0.2, 2, 15]));
		this.cluster = new Cluster(this.network, intermediate.recordIn(simulatedKernel(bugs)), latencies, (engine) =>
			backendOn(engine, bugs),
		);
		for (let slot = 0; slot < engines; slot++) this.cluster.start(slot);
	}

	/** Throws what was violated so far. */
	raise(): void {
		if (this.#violation) throw this.#violation;
		if (this.cluster.worstLosses > MAX_LOSSES)
			throw new Violation(`a command lost ${this.cluster.worstLosses} times in a row`);
	}

	/** A number nobody else has. */
	count(): number {
		return this.#counter++;
	}

	/** How many were given out. */
	get counted(): number {
		return this.#counter;
	}

	/** Calls some engine. */
	call<T>(question: (backend: LocalBackend) => Promise<T>, hear: (heard: Heard<T>, since: number) => void): void {
		const node = this.cluster.someNode();
		if (!node) return;
		const since = this.world.moment;
		this.settle(this.cluster.call(node, this.replyLost, question), (heard) => hear(heard, since));
	}

	/** Calls some engine about one execution and holds the answer against what the execution was. */
	ask(op: keyof Rules, id: string, command: object, question: (backend: LocalBackend) => Promise<object>): void {
		this.call(question, (heard, since) => {
			if (heard.kind === "unknown") return;
			const reply: Outcome =
				heard.kind === "ok" ? { ok: true, ...heard.value } : { ok: false, code: heard.code, details: {} };
			this.checker.checkReply(op, { ...command, executionId: id }, reply, since);
		});
	}

	settle<T>(promise: Promise<T>, then: (value: T) => void): void {
		promise.then(then).catch((error: unknown) => {
			this.#violation ??= error;
		});
	}

	/** An execution as it is stored. */
	stored(id: string): string | undefined {
		for (const partition of this.network.partitions) {
			const { version, doc } = partition.read(id);
			if (version > 0) return doc;
		}
		return undefined;
	}

	/** Documents of all that has not ended. */
	unfinished(): string[] {
		return this.checker.executions
			.map((id) => this.stored(id))
			.filter((doc) => doc !== undefined && !doc.includes('"lifecyclePhase":"terminal"'))
			.map(String);
	}
}

function backendOn(engine: Engine, bugs: EngineBugs): LocalBackend {
	const backend = new LocalBackend({ engine, actor: "operator", retentionMs: 86_400_000 });
	if (bugs.readsFromCache) {
		const { executions } = backend;
		const { get } = executions;
		const seen = new Map<string, Execution>();
		executions.get = async (id) => {
			const known = seen.get(id);
			if (known) return known;
			const view = await get.call(executions, id);
			seen.set(id, view);
			return view;
		};
	}
	return backend;
}
