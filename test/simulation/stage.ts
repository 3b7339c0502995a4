import type { LocalBackend } from "../../src/engine/local-backend.ts";
import type { Rules } from "../../src/kernel/kernel.ts";
import type { Outcome } from "../../src/kernel/outcome.ts";
import { type AdmissionBugs, withAdmissionBugs } from "./admission-bugs.ts";
import { type BackendBugs, backendOn } from "./backends.ts";
import { Checker } from "./checker.ts";
import { Cluster, type Heard, type Node } from "./cluster.ts";
import { type FlowBugs, withFlowBugs } from "./flow-bugs.ts";
import { IntermediateStates } from "./intermediate-states.ts";
import { Random } from "./random.ts";
import { type SchedulingBugs, withSchedulingBugs } from "./scheduling-bugs.ts";
import { noFaults, type SimNetwork, SimPartition, SOME_STALLS, type StoreBugs } from "./sim-store.ts";
import { type StreamBugs, withStreamBugs } from "./stream-bugs.ts";
import { type SuspensionBugs, withSuspensionBugs } from "./suspension-bugs.ts";
import { TENANTS, type Tenant } from "./tenants.ts";
import { type KernelBugs, simulatedKernel } from "./test-rules.ts";
import { Violation } from "./violation.ts";
import { settled, World } from "./world.ts";

export type Bugs = StoreBugs &
	KernelBugs &
	SchedulingBugs &
	AdmissionBugs &
	SuspensionBugs &
	StreamBugs &
	FlowBugs &
	BackendBugs &
	RunnerBugs;

/** Bugs of running commands while batches are on their way, and of telling that the store is gone. */
export interface RunnerBugs {
	undecidedRead?: boolean;
	scanPutOff?: boolean;
	silenceIsNoWork?: boolean;
}

const MAX_LOSSES = 50;
/** Commands that wait where an engine keeps up with what it is asked. */
const MOST_GATHERED = 8;

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
	/** From when on nothing is put off any more because an engine stood still. */
	awakeFrom = 0;
	/** What happened how often, to see that a run reaches what it is about. */
	readonly seen = new Map<string, number>();
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
			partition.onApplied = (unit, time, engine) => {
				this.checker.observe(partition, unit, time);
				this.network.onApplied?.(unit, engine);
			};
		}
		this.network = {
			world,
			random,
			partitions,
			stalls: SOME_STALLS,
			clock: () => Math.floor(world.time + this.clockOffset),
			stores: new Set(),
			onRegistryUnread: (namespace) => this.checker.workers.unread.add(namespace),
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
		const scheduling = withAdmissionBugs(withSchedulingBugs(simulatedKernel(bugs), bugs), bugs);
		const rules = withFlowBugs(withStreamBugs(withSuspensionBugs(scheduling, bugs), bugs), bugs);
		this.cluster = new Cluster(
			this.network,
			intermediate.recordIn(rules),
			latencies,
			(engine) => backendOn(engine, bugs),
			// The index reconciler would put this one right before anybody noticed.
			bugs.ticketLost ? Number.MAX_SAFE_INTEGER : undefined,
		);
		this.checker.guards.onSeen = (what) => this.note(what);
		this.checker.suspensions.onSeen = (what) => this.note(what);
		this.checker.streams.onSeen = (what) => this.note(what);
		this.checker.onEvent = (event, before) => {
			const { type } = event;
			this.note(type === "blocked" || type === "unblocked" ? `${type} ${event.reason}` : type);
			if (type === "claimed" && before?.grant) this.note("grant accepted");
		};
		for (let slot = 0; slot < engines; slot++) this.cluster.start(slot);
	}

	/** Throws what was violated so far. */
	raise(): void {
		if (this.#violation) throw this.#violation;
		if (this.cluster.worstLosses > MAX_LOSSES)
			throw new Violation(`a command lost ${this.cluster.worstLosses} times in a row`);
	}

	note(what: string): void {
		this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
	}

	someTenant(): Tenant {
		return this.random.pick(TENANTS);
	}

	/** A number nobody else has. */
	count(): number {
		return this.#counter++;
	}

	/** How many were given out. */
	get counted(): number {
		return this.#counter;
	}

	/** Calls some engine; false when there is none. */
	call<T>(question: (backend: LocalBackend) => Promise<T>, hear: (heard: Heard<T>, since: number) => void): boolean {
		const node = this.cluster.someNode();
		if (!node) return false;
		const since = this.world.moment;
		this.settle(this.cluster.call(node, this.replyLost, question), (heard) => hear(heard, since));
		return true;
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

	/** An operator takes away whatever lease there is. */
	revoke(id: string): void {
		const command = { op: "revokeLease", actor: "operator" };
		this.ask("revokeLease", id, command, (backend) => backend.executions.revokeLease(id));
	}

	settle<T>(promise: Promise<T>, then: (value: T) => void): void {
		promise.then(then).catch((error: unknown) => {
			this.#violation ??= error;
		});
	}

	/** Asks and lets the world go on until the answer is there, which it must be in time. */
	async answer<T>(question: (backend: LocalBackend) => Promise<T>, node?: Node, withinMs = 3000): Promise<T> {
		const asked = node ?? this.cluster.someNode();
		if (!asked) throw new Violation("no engine is up");
		let heard: Heard<T> | undefined;
		this.settle(this.cluster.call(asked, 0, question), (answer) => {
			heard = answer;
		});
		const until = this.world.time + withinMs;
		await settled();
		while (!heard && (this.world.nextAt ?? until) < until && (await this.world.step())) this.raise();
		if (heard?.kind === "ok") return heard.value;
		throw new Violation(`asked in calm and got ${JSON.stringify(heard) ?? "no answer"}: ${question}`);
	}

	/** Lets the world go on until something holds; false when the time is over first. */
	async until(holds: () => boolean, withinMs: number): Promise<boolean> {
		const { world } = this;
		for (const end = world.time + withinMs; !holds(); ) {
			if (world.time >= end) return false;
			await world.runUntil(Math.min(end, world.time + 20));
			this.raise();
		}
		return true;
	}

	/** In calm: what is to be done in time is, once engines do nothing else late any more. */
	checkCalm(): void {
		const { world, cluster, checker, network } = this;
		const hasParked = cluster.nodes.some(({ backend }) => backend.engine.parked > 0);
		// An engine that makes a commit of every command may be late with all of them when many claim.
		const isBehind = cluster.nodes.some(({ backend }) =>
			backend.engine.runners.some(({ gathered }) => gathered > MOST_GATHERED),
		);
		const isDisturbed = hasParked || isBehind || world.time <= this.awakeFrom;
		checker.guards.checkCalm(network.partitions, isDisturbed);
		checker.suspensions.checkCalm(network.partitions, isDisturbed);
	}

	/** The latest that anybody takes it to be: an engine does not know yet that the store's clock was set back. */
	get latestTime(): number {
		const { partitions, clock } = this.network;
		const ofEngines = this.cluster.nodes.flatMap(({ backend }) => backend.engine.runners.map(({ time }) => time.now()));
		return Math.max(clock(), ...partitions.map(({ time }) => time), ...ofEngines);
	}

	/** An execution as it is stored. */
	stored(id: string): string | undefined {
		for (const partition of this.network.partitions) {
			const { version, doc } = partition.read(id);
			if (version > 0) return doc;
		}
		return undefined;
	}

	/** All that has not ended, or all of a tenant. */
	unfinished(tenant?: Tenant): string[] {
		return this.checker.executions.filter((id) => {
			const record = this.checker.recordOf(id);
			return record && record.lifecyclePhase !== "terminal" && (!tenant || record.namespace === tenant);
		});
	}
}
