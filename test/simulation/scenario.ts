import { admissionCrash } from "./act-admission-crash.ts";
import { arrival } from "./act-arrival.ts";
import { breach } from "./act-breach.ts";
import { errand } from "./act-errand.ts";
import { grant } from "./act-grant.ts";
import { hotGuard } from "./act-hot-guard.ts";
import { outage } from "./act-outage.ts";
import { pause } from "./act-pause.ts";
import { queueTimeout } from "./act-queue-timeout.ts";
import { quotaTurns } from "./act-quota-turns.ts";
import { rate } from "./act-rate.ts";
import { signals } from "./act-signals.ts";
import { streamCrash } from "./act-stream-crash.ts";
import { streamEnds } from "./act-stream-ends.ts";
import { stuckHead } from "./act-stuck-head.ts";
import { suspensionCrash } from "./act-suspension-crash.ts";
import { suspensionTimeouts } from "./act-suspension-timeouts.ts";
import { turns } from "./act-turns.ts";
import { Approvers } from "./approvers.ts";
import { Claimants } from "./claimants.ts";
import { Calm } from "./closing-acts.ts";
import { appease, settleDown, strike } from "./faults.ts";
import { crew, Fleet } from "./fleet.ts";
import { GuardKeepers } from "./guard-keepers.ts";
import { JournalWriters } from "./journal-writers.ts";
import { LaneChanges } from "./lane-changes.ts";
import { Mailbox } from "./mailbox.ts";
import { Operators } from "./operators.ts";
import { Senders } from "./senders.ts";
import { type Bugs, Stage } from "./stage.ts";
import { Steppers } from "./steppers.ts";
import { StreamReaders } from "./stream-readers.ts";
import { StreamWriters } from "./stream-writers.ts";
import { Submitters } from "./submitters.ts";
import { Suspenders } from "./suspenders.ts";
import { takeOver } from "./take-over.ts";
import { otherThan, TENANTS, type Tenant } from "./tenants.ts";
import { Violation } from "./violation.ts";

/** Enough for the slow sweep of every engine, which is the last net under all that was missed. */
const DRAIN_ROUNDS = 900;

/** Within this every engine has looked at what it may have missed. */
const SWEPT_MS = 310_000;

/** Acts at the end of a history, out of all there are. */
const ACTS = 6;

/** One seeded history: random commands and faults against a cluster, then calm, then everything must have ended. */
export class Scenario {
	readonly #stage: Stage;
	readonly #submitters: Submitters;
	readonly #fleet: Fleet;
	readonly #claimants: Claimants;
	readonly #operators: Operators;
	readonly #lanes: LaneChanges;
	readonly #writers: JournalWriters;
	readonly #keepers: GuardKeepers;
	readonly #senders: Senders;
	readonly #approvers: Approvers;
	readonly #readers: StreamReaders;

	constructor(seed: number, bugs: Bugs) {
		const stage = new Stage(seed, bugs);
		this.#stage = stage;
		this.#submitters = new Submitters(stage);
		this.#fleet = new Fleet(stage);
		this.#keepers = new GuardKeepers(stage);
		const mailbox = new Mailbox();
		const suspenders = new Suspenders(stage, mailbox);
		this.#claimants = new Claimants(
			stage,
			this.#fleet,
			this.#keepers,
			suspenders,
			new Steppers(stage),
			new StreamWriters(stage),
		);
		this.#readers = new StreamReaders(stage, this.#submitters.known);
		this.#senders = new Senders(stage, mailbox);
		this.#approvers = new Approvers(stage, mailbox, this.#submitters.known);
		this.#operators = new Operators(stage, this.#submitters.known);
		this.#lanes = new LaneChanges(stage);
		this.#writers = new JournalWriters(stage);
	}

	/** What happened how often. */
	get seen(): ReadonlyMap<string, number> {
		return this.#stage.seen;
	}

	/** Runs the history; throws what it violated. */
	async run(steps: number): Promise<void> {
		const { world, hot, cluster } = this.#stage;
		await world.runUntil(100);
		if (hot) {
			await this.#writers.contend(steps);
			appease(this.#stage);
			this.#checkEnded();
		} else {
			this.#keepers.found();
			await this.#live(steps);
			await this.#comeToRest();
			await this.#closingActs();
			this.#checkEnded();
			await takeOver(this.#stage);
		}
		for (const { host } of cluster.nodes) host.die();
	}

	async #live(steps: number): Promise<void> {
		const { network, checker, cluster } = this.#stage;
		for (let step = 0; step < steps; step++) {
			this.#act();
			await this.#advance();
			this.#stage.raise();
			if (step % 50 === 49) {
				for (const partition of network.partitions) checker.checkIndex(partition);
				checker.streams.checkStored(network.partitions);
			}
			if (cluster.hasShifted()) this.#stage.note("partitions changed hands");
		}
	}

	async #advance(): Promise<void> {
		const { random, world } = this.#stage;
		const how = random.next();
		if (how < 0.6) for (let n = random.integer(1, 8); n > 0; n--) await world.step();
		else if (how < 0.95) await world.runUntil(world.time + random.integer(1, 60));
		else await world.runUntil(world.time + random.integer(100, 3000));
	}

	#act(): void {
		const { random } = this.#stage;
		const weights = { create: 20, claim: 22, grant: 8, hold: 38, operate: 8, read: 8, test: 16, fault: 6 };
		switch (
			random.weighted({ ...weights, lane: 4, worker: 6, look: 5, guard: 14, send: 20, approve: 6, tell: 25, tail: 14 })
		) {
			case "create":
				return this.#submitters.create();
			case "claim":
				return this.#claimants.claim(random.pick([0, 0, 500]));
			case "grant":
				return this.#claimants.grant();
			case "worker":
				return this.#fleet.act();
			case "lane":
				return this.#lanes.change();
			case "guard":
				return this.#keepers.act(this.#submitters.known);
			case "hold":
				return this.#claimants.useLease();
			case "send":
				return this.#senders.act();
			case "approve":
				return this.#approvers.act();
			case "tell":
				return this.#claimants.tell();
			case "tail":
				return this.#readers.act();
			case "operate":
				return this.#operators.operate();
			case "read":
				return this.#operators.read();
			case "look":
				return this.#operators.look();
			case "test":
				return this.#writers.write();
			case "fault":
				return strike(this.#stage, this.#claimants);
		}
	}

	/** No more faults: whatever was accepted must come to its end, and what a slow engine does much later too. */
	async #comeToRest(): Promise<void> {
		const stage = this.#stage;
		appease(stage);
		this.#fleet.dismiss();
		await stage.world.runUntil(stage.world.time + 3000);
		this.#claimants.forgetAll();
		do {
			await this.#drain();
			await settleDown(stage);
		} while (stage.unfinished().length > 0);
		// A pause may have been among what came late.
		for (const tenant of TENANTS) this.#lanes.askAll(tenant, "resume");
		await stage.world.runUntil(stage.world.time + 3000);
		stage.checker.guards.checkAtRest();
		// Who was not told of the end, because that was lost, hears of it with the next sweep.
		await stage.until(() => this.#readers.areAllDone, SWEPT_MS);
		this.#readers.checkEnded();
	}

	/** First all of one tenant, while the lanes of the other are paused, or on their way to it. */
	async #drain(): Promise<void> {
		const stage = this.#stage;
		const first = stage.someTenant();
		await this.#finish(first, () => this.#lanes.askAll(otherThan(first), "pause"));
		await this.#finish(otherThan(first), () => {});
	}

	async #finish(tenant: Tenant, beside: () => void): Promise<void> {
		const stage = this.#stage;
		const { world, random } = stage;
		const offers = { default: crew(stage), acme: crew(stage) };
		for (let round = 0; round < DRAIN_ROUNDS; round++) {
			stage.raise();
			if (round > 3 && stage.unfinished(tenant).length === 0) return;
			// Again and again: what was under way in a slow engine may land after the first.
			if (round % 20 === 0) {
				this.#lanes.askAll(tenant, "resume");
				this.#keepers.provide(tenant);
				this.#approvers.release(tenant, round > 100);
				beside();
			}
			stage.checkCalm();
			for (const each of TENANTS) {
				const n = random.integer(0, offers[each].length - 1);
				this.#claimants.claimWith(each, `crew ${n}`, offers[each][n] ?? { capabilities: [], lanes: [] }, 200);
			}
			this.#claimants.completeAll(round < 40 ? 0.15 : 0);
			await world.runUntil(world.time + (round < 50 ? 50 : 500));
		}
		const [stuck = ""] = stage.unfinished(tenant);
		throw new Violation(`stuck: ${stage.stored(stuck)}`);
	}

	/** Calm and an empty store: now things must not only come right, but at once. */
	async #closingActs(): Promise<void> {
		const stage = this.#stage;
		const calm = new Calm(stage);
		// What is late because a chain of messages was held up tells nothing.
		stage.network.stalls = 0;
		const acts = [arrival, pause, grant, turns, errand, hotGuard, outage];
		acts.push(admissionCrash, breach, queueTimeout, quotaTurns, rate, stuckHead);
		acts.push(signals, suspensionCrash, suspensionTimeouts, streamCrash, streamEnds);
		for (let n = 0; n < ACTS; n++) {
			const [act] = acts.splice(stage.random.integer(0, acts.length - 1), 1);
			await act?.(calm);
			// Claims that wait come to their end, and engines forget which lanes they were claimed from for.
			await stage.world.runUntil(stage.world.time + 15_000);
			stage.raise();
			stage.checkCalm();
		}
		stage.checker.guards.checkAtRest();
	}

	#checkEnded(): void {
		const stage = this.#stage;
		const { checker } = stage;
		stage.raise();
		const [stuck] = stage.unfinished();
		if (stuck !== undefined) throw new Violation(`stuck: ${stage.stored(stuck)}`);
		for (const id of this.#submitters.acknowledged) {
			if (!checker.removed.has(id) && !stage.stored(id)) throw new Violation(`${id} was acknowledged and is lost`);
		}
		this.#senders.checkKept();
		checker.suspensions.checkNoTrace(stage.network.partitions);
		checker.streams.checkStored(stage.network.partitions);
		this.#readers.checkEnded();
		for (const partition of stage.network.partitions) checker.checkIndex(partition);
	}
}
