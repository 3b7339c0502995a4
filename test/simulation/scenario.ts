import { FlowFabricError } from "../../src/contract/errors.ts";
import type { CreateRequest } from "../../src/contract/executions.ts";
import type { Execution } from "../../src/contract/replies.ts";
import type { ClaimRequest } from "../../src/contract/worker-protocol.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import type { Rules } from "../../src/kernel/kernel.ts";
import type { Outcome } from "../../src/kernel/outcome.ts";
import { unitOf } from "../../src/store/port.ts";
import { Checker, Violation } from "./checker.ts";
import { Cluster, type Heard, type Node } from "./cluster.ts";
import { IntermediateStates } from "./intermediate-states.ts";
import { Random } from "./random.ts";
import { noFaults, type SimNetwork, SimPartition, type StoreBugs } from "./sim-store.ts";
import { type KernelBugs, simulatedKernel, type TestCommand } from "./test-rules.ts";
import { World } from "./world.ts";

export interface EngineBugs {
	readsFromCache?: boolean;
}

export type Bugs = StoreBugs & KernelBugs & EngineBugs;

interface Held {
	id: string;
	fence: { leaseId: string; epoch: number };
}

const LANES = ["default", "media"];
const CAPABILITIES = ["gpu", "tpu"];
const MAX_LOSSES = 50;
const DRAIN_ROUNDS = 4000;
const TAKE_OVER_MS = 3000;
/** What a slow store and a drifting clock may add. */
const PATIENCE_MS = 1500;

/** One seeded history: random commands and faults against a cluster, then calm, then everything must have ended. */
export class Scenario {
	readonly world = new World();
	readonly #random: Random;
	readonly #network: SimNetwork;
	readonly #checker: Checker;
	readonly #cluster: Cluster;
	readonly #known: string[] = [];
	readonly #acknowledged = new Set<string>();
	#held: Held[] = [];
	readonly #former: Held[] = [];
	readonly #lanes = new Map(LANES.map((lane) => [lane, { paused: false, open: 0, unsure: false }]));
	#clockOffset = 1_700_000_000_000;
	#replyLost = 0.05;
	#counter = 0;
	#draining = false;
	#violation: unknown;
	readonly #hot: boolean;

	constructor(seed: number, bugs: Bugs) {
		this.#random = new Random(seed);
		const random = this.#random;
		const { world } = this;
		this.#hot = seed % 10 === 7;
		const intermediate = new IntermediateStates();
		this.#checker = new Checker(world, intermediate);
		const partitions = Array.from(
			{ length: this.#hot ? 1 : random.integer(1, 3) },
			(_, n) => new SimPartition(n, bugs),
		);
		for (const partition of partitions) {
			partition.onApplied = (unit, time) => this.#checker.observe(partition, unit, time);
		}
		this.#network = {
			world,
			random,
			partitions,
			clock: () => Math.floor(world.time + this.#clockOffset),
			stores: new Set(),
			faults: this.#hot
				? noFaults
				: {
						requestLost: random.pick([0, 0.01]),
						replyLost: random.pick([0, 0.02]),
						requestRepeated: random.pick([0, 0.03]),
						noticeLost: random.pick([0, 0.3]),
						conflictInvented: random.pick([0, 0.05]),
					},
		};
		const engines = this.#hot ? 3 : random.integer(1, 3);
		const latencies = this.#hot ? [0.5, 15, 25] : Array.from({ length: engines }, () => random.pick([0.2, 2, 15]));
		this.#cluster = new Cluster(this.#network, intermediate.recordIn(simulatedKernel(bugs)), latencies, (engine) =>
			backendOn(engine, bugs),
		);
		for (let slot = 0; slot < engines; slot++) this.#cluster.start(slot);
	}

	/** Runs the history; throws what it violated. */
	async run(steps: number): Promise<void> {
		await this.world.runUntil(100);
		if (this.#hot) await this.#contend(steps);
		else {
			for (let step = 0; step < steps; step++) {
				this.#act();
				await this.#advance();
				this.#raise();
				if (step % 50 === 49) for (const partition of this.#network.partitions) this.#checker.checkIndex(partition);
			}
		}
		await this.#drain();
	}

	#raise(): void {
		if (this.#violation) throw this.#violation;
		if (this.#cluster.worstLosses > MAX_LOSSES)
			throw new Violation(`a command lost ${this.#cluster.worstLosses} times in a row`);
	}

	async #advance(): Promise<void> {
		const random = this.#random;
		const how = random.next();
		if (how < 0.6) for (let n = random.integer(1, 8); n > 0; n--) await this.world.step();
		else if (how < 0.95) await this.world.runUntil(this.world.time + random.integer(1, 60));
		else await this.world.runUntil(this.world.time + random.integer(100, 3000));
	}

	#act(): void {
		const random = this.#random;
		switch (
			random.weighted({ create: 20, claim: 22, grant: 8, hold: 38, operate: 8, lane: 2, read: 8, test: 10, fault: 6 })
		) {
			case "create":
				return this.#create();
			case "claim":
				return this.#claim(random.pick([0, 0, 500]));
			case "grant":
				return this.#grant();
			case "lane":
				return this.#changeLane();
			case "hold":
				return this.#useLease();
			case "operate":
				return this.#operate();
			case "read":
				return this.#read();
			case "test":
				return this.#test();
			case "fault":
				return this.#fault();
		}
	}

	#create(): void {
		if (this.#random.chance(0.3)) return this.#createMany();
		const request = this.#createRequest();
		this.#call(
			(backend) => backend.executions.create(request),
			(heard, since) => {
				if (heard.kind === "ok") this.#created(heard.value.id, since);
			},
		);
	}

	#createMany(): void {
		const requests = Array.from({ length: this.#random.integer(2, 6) }, () => this.#createRequest());
		this.#call(
			(backend) => backend.executions.createMany(requests),
			(heard, since) => {
				if (heard.kind !== "ok") return;
				for (const { id } of heard.value) if (id !== undefined) this.#created(id, since);
			},
		);
	}

	#created(id: string, since: number): void {
		this.#checker.checkCreated(id, since);
		this.#acknowledged.add(id);
		this.#known.push(id);
	}

	#createRequest(): CreateRequest {
		const random = this.#random;
		const keyed = random.chance(0.3);
		return {
			kind: random.pick(["a", "b"]),
			lane: random.pick(LANES),
			...(random.chance(0.3) ? { fairnessKey: random.pick(["x", "y", "z"]) } : undefined),
			...(random.chance(0.3) ? { requiredCapabilities: [random.pick(CAPABILITIES)] } : undefined),
			...(keyed ? { idempotencyKey: `key-${random.integer(1, 3)}` } : { priority: random.integer(0, 3) }),
			...(!keyed && random.chance(0.2) ? { delayMs: random.integer(1, 800) } : undefined),
			policy: {
				...(keyed ? { dedupWindowMs: 4000 } : undefined),
				...(random.chance(0.4) || keyed ? { retentionMs: 1500 } : undefined),
				...(keyed
					? undefined
					: {
							retry: { maxRetries: 2, backoff: { type: "fixed" as const, delayMs: random.integer(0, 300) } },
							maxReclaims: random.pick([0, 1, 100]),
							...(random.chance(0.2)
								? { timeouts: { attemptMs: random.integer(50, 800), queueMs: 4000, deadlineMs: 9000 } }
								: undefined),
						}),
			},
		};
	}

	#claim(waitMs: number, repeatable = true): void {
		const random = this.#random;
		const worker = `w${random.integer(1, 4)}`;
		// An instance of its own per request: what it was given can be told from the events.
		const requestId = repeatable && random.chance(0.4) ? `r${this.#counter++}` : undefined;
		const repeats = requestId === undefined ? 0 : random.integer(0, 3);
		const request = {
			lanes: random.chance(0.5) ? LANES : [random.pick(LANES)],
			...(random.chance(0.3) ? { kinds: ["a"] } : undefined),
			capabilities: this.#draining ? CAPABILITIES : CAPABILITIES.filter(() => random.chance(0.5)),
			workerId: worker,
			instanceId: requestId === undefined ? worker : `${worker}-${requestId}`,
			...(requestId === undefined ? undefined : { requestId }),
			max: random.integer(1, 3),
			leaseMs: random.integer(100, 3000),
			waitMs,
		};
		this.#sendClaim(request, this.world.moment, repeats);
	}

	/** Something is reserved, and accepted soon, late, or never. */
	#grant(): void {
		const random = this.#random;
		const instanceId = `w${random.integer(1, 4)}`;
		const request = {
			lanes: LANES,
			capabilities: CAPABILITIES.filter(() => random.chance(0.5)),
			workerId: "granted",
			instanceId,
			grantTtlMs: random.integer(1, 1500),
			waitMs: random.pick([0, 0, 300]),
		};
		this.#call(
			(backend) => backend.leases.grant(request),
			(heard) => {
				if (heard.kind !== "ok" || !heard.value || random.chance(0.2)) return;
				const { grantId } = heard.value;
				this.world.after(random.pick([0, 20, 400, 2000]), () => this.#accept(grantId, instanceId));
			},
		);
	}

	#accept(grantId: string, instanceId: string): void {
		this.#call(
			(backend) => backend.leases.acceptGrant(grantId, { instanceId, leaseMs: 2000 }),
			(heard) => {
				if (heard.kind === "ok") this.#gotLease(heard.value.id, heard.value.lease, 0);
			},
		);
	}

	/** A pause that is answered holds until somebody asks for something else, unless an earlier answer is still out. */
	#changeLane(): void {
		const lane = this.#random.pick(LANES);
		const known = this.#lanes.get(lane) as { paused: boolean; open: number; unsure: boolean };
		known.paused = !known.paused && !this.#draining;
		known.unsure ||= known.open > 0;
		known.open += 1;
		const { paused } = known;
		this.#checker.laneMayOpen(lane);
		this.#call(
			(backend) => (paused ? backend.lanes.pause(lane) : backend.lanes.resume(lane)),
			(heard) => {
				known.open -= 1;
				known.unsure ||= heard.kind !== "ok";
				if (paused && !known.unsure) this.#checker.lanePaused(lane);
			},
		);
	}

	/** A claim, and perhaps again: its answer may be lost, or late, and another engine may be asked. */
	#sendClaim(request: ClaimRequest, firstSent: number, repeats: number): void {
		this.#call(
			(backend) => backend.leases.claim(request),
			(heard, since) => {
				if (heard.kind !== "ok") return;
				for (const { id, lease } of heard.value) this.#gotLease(id, lease, firstSent);
				const told = heard.value.map(({ lease }) => lease.id);
				if (request.requestId !== undefined) this.#checker.checkRepeated(request.instanceId, told, since);
			},
		);
		if (repeats === 0) return;
		const later = this.#random.pick([0, 20, 400, 1500]);
		this.world.after(later, () => this.#sendClaim(request, firstSent, repeats - 1));
	}

	#gotLease(id: string, lease: { id: string; epoch: number }, since: number): void {
		this.#checker.checkClaimed(id, lease.id, since);
		const known = [...this.#held, ...this.#former].some(({ fence }) => fence.leaseId === lease.id);
		if (!known) this.#held.push({ id, fence: { leaseId: lease.id, epoch: lease.epoch } });
	}

	/** A worker does something with a lease it holds, or believes to hold, or held once. */
	#useLease(): void {
		const random = this.#random;
		const stale = random.chance(0.15);
		const from = stale ? this.#former : this.#held;
		if (from.length === 0) return;
		const held = random.pick(from);
		const op = random.weighted({ complete: 8, renew: 8, fail: 4, release: 2, delay: 2, progress: 2, cancel: 1 });
		const request = leaseRequests[op](held, random);
		this.#ask(op, held.id, request.command, request.call);
		if (op !== "renew" && op !== "progress") this.#letGo(held);
		// The reply may be late or lost, so the worker says it again, perhaps to another engine.
		if (random.chance(0.3)) this.#ask(op, held.id, request.command, request.call);
	}

	#letGo(held: Held): void {
		this.#held = this.#held.filter((other) => other !== held);
		this.#former.push(held);
		if (this.#former.length > 30) this.#former.shift();
	}

	#operate(): void {
		const random = this.#random;
		if (this.#known.length === 0) return;
		const id = random.pick(this.#known);
		const op = random.weighted({
			cancel: 3,
			revokeLease: 2,
			replay: 3,
			delete: 1,
			changePriority: 2,
			setTags: 2,
			intrude: 1,
		});
		const command = { op, executionId: id, actor: "operator" };
		switch (op) {
			case "cancel": {
				const mode = random.pick(["graceful", "force"] as const);
				const graceMs = random.integer(0, 500);
				return this.#ask("cancel", id, { ...command, mode, graceMs }, (backend) =>
					backend.executions.cancel(id, { mode, graceMs }),
				);
			}
			case "revokeLease":
				return this.#ask("revokeLease", id, command, (backend) => backend.executions.revokeLease(id));
			case "replay":
				return this.#ask("replay", id, command, (backend) => backend.executions.replay(id));
			case "delete":
				return this.#ask("delete", id, command, (backend) => backend.executions.delete(id));
			case "changePriority": {
				const priority = random.integer(0, 3);
				return this.#ask("changePriority", id, { ...command, priority }, (backend) =>
					backend.executions.changePriority(id, { priority }),
				);
			}
			case "setTags": {
				const set = { n: String(random.integer(0, 3)) };
				return this.#ask("setTags", id, { ...command, set, remove: [] }, (backend) =>
					backend.executions.setTags(id, { set }),
				);
			}
			case "intrude": {
				const other = { actor: "intruder", namespace: "other" };
				return this.#ask("cancel", id, { ...command, ...other, mode: "force", graceMs: 0 }, (backend) =>
					backend.as(other).executions.cancel(id, { mode: "force" }),
				);
			}
		}
	}

	#read(): void {
		if (this.#known.length === 0) return;
		const id = this.#random.pick(this.#known);
		this.#call(
			(backend) => backend.executions.get(id),
			(heard, since) => {
				if (heard.kind === "ok") this.#checker.checkRead(id, heard.value, since);
				else if (heard.kind === "refused") this.#checker.checkRead(id, undefined, since);
			},
		);
	}

	#test(): void {
		const random = this.#random;
		const token = `t${this.#counter++}`;
		switch (random.weighted({ journal: 4, rewrite: 4, reset: 3, join: 6, close: 2, field: 1 })) {
			case "journal":
				return this.#runTest({ op: "writeJournal", name: "hot", token }, () => this.#checker.checkToken(token));
			case "rewrite":
				return this.#runTest({ op: "writeJournal", name: "phoenix", token });
			case "reset":
				return this.#runTest({ op: "resetJournal", name: "phoenix", token });
			case "join":
				return this.#runTest({ op: "joinGroup", name: `g${Math.floor(this.#counter / 20)}`, token });
			case "close":
				return this.#runTest({ op: "closeGroup", name: `g${Math.floor(this.#counter / 20)}`, token });
			case "field":
				return this.#addFieldOfLaterVersion();
		}
	}

	#runTest(command: TestCommand, acknowledged?: () => void, partition = 0): void {
		this.#call(
			(backend) => backend.engine.runner(partition).run(command),
			(heard) => {
				if (heard.kind === "ok" && heard.value.ok) acknowledged?.();
			},
		);
	}

	/** A newer program writes a record with a field this one does not know. */
	#addFieldOfLaterVersion(): void {
		const random = this.#random;
		const partition = random.pick(this.#network.partitions);
		const ids = [...partition.records.keys()].filter((key) => key.startsWith("ex_"));
		if (ids.length === 0) return;
		const { key, version, doc } = partition.read(random.pick(ids));
		const later = JSON.stringify({ ...JSON.parse(doc), fromLaterVersion: "kept" });
		const unit = unitOf({ expected: [[key, version]], put: [{ key, doc: later }] });
		this.world.moment += 1;
		const at = partition.tell(this.#network.clock());
		partition.commit({ engine: "newer program", number: ++this.#counter, at, units: [unit] }, at);
	}

	#fault(): void {
		const random = this.#random;
		const slot = random.integer(0, this.#cluster.nodes.length - 1);
		const node = this.#cluster.nodes[slot] as Node;
		switch (random.weighted({ crash: 3, leave: 2, pause: 3, deaf: 2, partition: 2, clock: 2, worker: 2 })) {
			case "crash":
				this.#cluster.crash(slot);
				this.world.after(random.integer(1, 1000), () => this.#cluster.start(slot));
				return;
			case "leave":
				this.#cluster.leave(slot);
				this.world.after(random.integer(1, 5000), () => {
					this.#cluster.crash(slot);
					this.#cluster.start(slot);
				});
				return;
			case "deaf":
				return node.store.loseNotices(random.integer(10, 5000));
			case "pause":
				return node.host.pause(random.pick([200, 5000, 60_000]), random.chance(0.5));
			case "partition": {
				const partition = random.pick(this.#network.partitions);
				partition.down = true;
				this.world.after(random.integer(10, 3000), () => {
					partition.down = false;
				});
				return;
			}
			case "clock":
				this.#clockOffset += random.integer(-20_000, 20_000);
				return;
			case "worker":
				for (const held of [...this.#held].slice(0, 3)) this.#letGo(held);
				return;
		}
	}

	/** Engines near and far write the same record as fast as they can: nobody may lose for ever. */
	async #contend(steps: number): Promise<void> {
		let running = true;
		const write = (node: Node): void => {
			if (!running) return;
			const token = `t${this.#counter++}`;
			this.#settle(
				this.#cluster.call(node, 0, (backend) =>
					backend.engine.runner(0).run({ op: "writeJournal", name: "hot", token } as TestCommand),
				),
				(heard) => {
					if (heard.kind === "ok") this.#checker.checkToken(token);
					write(node);
				},
			);
		};
		for (const node of this.#cluster.nodes) write(node);
		await this.world.runUntil(this.world.time + steps * 10);
		running = false;
		this.#raise();
	}

	/** Calls some engine about one execution and holds the answer against what the execution was. */
	#ask(op: keyof Rules, id: string, command: object, question: (backend: LocalBackend) => Promise<object>): void {
		this.#call(question, (heard, since) => {
			if (heard.kind === "unknown") return;
			const reply: Outcome =
				heard.kind === "ok" ? { ok: true, ...heard.value } : { ok: false, code: heard.code, details: {} };
			this.#checker.checkReply(op, { ...command, executionId: id }, reply, since);
		});
	}

	#call<T>(question: (backend: LocalBackend) => Promise<T>, hear: (heard: Heard<T>, since: number) => void): void {
		const node = this.#cluster.someNode();
		if (!node) return;
		const since = this.world.moment;
		this.#settle(this.#cluster.call(node, this.#replyLost, question), (heard) => hear(heard, since));
	}

	#settle<T>(promise: Promise<T>, then: (value: T) => void): void {
		promise.then(then).catch((error: unknown) => {
			this.#violation ??= error;
		});
	}

	/** No more faults: whatever was accepted must come to its end. */
	async #drain(): Promise<void> {
		this.#draining = true;
		this.#network.faults = noFaults;
		this.#replyLost = 0;
		for (const partition of this.#network.partitions) partition.down = false;
		this.#cluster.nodes.forEach((node, slot) => {
			node.host.pausedUntil = 0;
			if (!node.host.alive) this.#cluster.start(slot);
		});
		await this.world.runUntil(this.world.time + 3000);
		this.#held = [];
		for (let round = 0; round < DRAIN_ROUNDS; round++) {
			this.#raise();
			if (this.#unfinished().length === 0 && round > 3) break;
			// Again and again: a pause that was under way in a slow engine may land after the first.
			if (round % 20 === 0) this.#openLanes();
			this.#claim(200, false);
			for (const held of this.#held.splice(0)) {
				this.#ask("complete", held.id, { op: "complete", fence: held.fence, result: null }, (backend) =>
					backend.leases.complete(held.id, { fence: held.fence }),
				);
			}
			await this.world.runUntil(this.world.time + (round < 50 ? 50 : 500));
		}
		this.#raise();
		const [stuck] = this.#unfinished();
		if (stuck) throw new Violation(`stuck: ${stuck}`);
		for (const id of this.#acknowledged) {
			if (!this.#checker.removed.has(id) && !this.#stored(id))
				throw new Violation(`${id} was acknowledged and is lost`);
		}
		for (const partition of this.#network.partitions) this.#checker.checkIndex(partition);
		if (!this.#hot) await this.#takeOver();
		for (const { host } of this.#cluster.nodes) host.die();
	}

	/** One engine dies; whatever was due where it minded things is done within 3 seconds, and what the store takes. */
	async #takeOver(): Promise<void> {
		const { world } = this;
		// Engines that stood still wake up, clocks that ran ahead are caught up with, and all hear of each other.
		const ahead = Math.max(...this.#network.partitions.map(({ time }) => time)) - this.#network.clock();
		this.#clockOffset += Math.max(0, ahead);
		await world.runUntil(world.time + 75_000);
		const delayMs = this.#random.integer(1, 2000);
		const made: string[] = [];
		for (let n = 0; n < 3 * this.#network.partitions.length; n++) {
			const request = { kind: "a", delayMs, idempotencyKey: `last ${n}` };
			this.#call(
				(backend) => backend.executions.create(request),
				(heard) => {
					if (heard.kind === "ok") made.push(heard.value.id);
				},
			);
		}
		await world.runUntil(world.time + this.#random.integer(0, 2500));
		if (this.#cluster.nodes.length > 1) this.#cluster.crash(this.#random.integer(0, this.#cluster.nodes.length - 1));
		await world.runUntil(world.time + Math.max(delayMs, TAKE_OVER_MS) + PATIENCE_MS);
		this.#raise();
		const late = made.filter((id) => this.#stored(id)?.includes('"not_eligible_until_time"'));
		if (late.length > 0) throw new Violation(`${late} should have been seen to when an engine died`);
	}

	#openLanes(): void {
		for (const [lane, known] of this.#lanes) {
			known.unsure = true;
			this.#checker.laneMayOpen(lane);
			this.#call(
				(backend) => backend.lanes.resume(lane),
				() => {},
			);
		}
	}

	#stored(id: string): string | undefined {
		for (const partition of this.#network.partitions) {
			const { version, doc } = partition.read(id);
			if (version > 0) return doc;
		}
		return undefined;
	}

	#unfinished(): string[] {
		return this.#checker.executions
			.map((id) => this.#stored(id))
			.filter((doc) => doc !== undefined && !doc.includes('"lifecyclePhase":"terminal"'))
			.map(String);
	}
}

const leaseRequests = {
	complete: ({ id, fence }: Held) => ({
		command: { op: "complete", fence, result: null },
		call: (backend: LocalBackend) => backend.leases.complete(id, { fence }),
	}),
	renew: ({ id, fence }: Held) => ({
		command: { op: "renew", fence },
		call: async (backend: LocalBackend) => {
			const [lease] = await backend.leases.renew({ leases: [{ executionId: id, ...fence }] });
			if (lease?.error) throw new FlowFabricError(lease.error.code);
			return lease ?? {};
		},
	}),
	fail: ({ id, fence }: Held, random: Random) => {
		const category = random.pick(["error", "permanent"]);
		return {
			command: { op: "fail", fence, reason: "no", category, jitter: 0 },
			call: (backend: LocalBackend) => backend.leases.fail(id, { fence, reason: "no", category }),
		};
	},
	release: ({ id, fence }: Held) => ({
		command: { op: "release", fence },
		call: (backend: LocalBackend) => backend.leases.release(id, { fence }),
	}),
	delay: ({ id, fence }: Held) => ({
		command: { op: "delay", fence, delayMs: 100 },
		call: (backend: LocalBackend) => backend.leases.delay(id, { fence, delayMs: 100 }),
	}),
	progress: ({ id, fence }: Held) => ({
		command: { op: "progress", fence, progress: { percent: 50 } },
		call: (backend: LocalBackend) => backend.leases.progress(id, { fence, percent: 50 }),
	}),
	cancel: ({ id, fence }: Held) => ({
		command: { op: "cancel", fence, mode: "graceful", graceMs: 100, actor: "w" },
		call: (backend: LocalBackend) => backend.executions.cancel(id, { fence }),
	}),
} as const satisfies Record<
	string,
	(held: Held, random: Random) => { command: object; call: (backend: LocalBackend) => Promise<object> }
>;

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
