import { Violation } from "./checker.ts";
import { Claimants } from "./claimants.ts";
import { appease, strike } from "./faults.ts";
import { JournalWriters } from "./journal-writers.ts";
import { LaneChanges } from "./lane-changes.ts";
import { Operators } from "./operators.ts";
import { type Bugs, Stage } from "./stage.ts";
import { Submitters } from "./submitters.ts";
import { takeOver } from "./take-over.ts";

const DRAIN_ROUNDS = 4000;

/** One seeded history: random commands and faults against a cluster, then calm, then everything must have ended. */
export class Scenario {
	readonly #stage: Stage;
	readonly #submitters: Submitters;
	readonly #claimants: Claimants;
	readonly #operators: Operators;
	readonly #lanes: LaneChanges;
	readonly #writers: JournalWriters;

	constructor(seed: number, bugs: Bugs) {
		const stage = new Stage(seed, bugs);
		this.#stage = stage;
		this.#submitters = new Submitters(stage);
		this.#claimants = new Claimants(stage);
		this.#operators = new Operators(stage, this.#submitters.known);
		this.#lanes = new LaneChanges(stage);
		this.#writers = new JournalWriters(stage);
	}

	/** Runs the history; throws what it violated. */
	async run(steps: number): Promise<void> {
		const { world, network, checker, hot } = this.#stage;
		await world.runUntil(100);
		if (hot) await this.#writers.contend(steps);
		else {
			for (let step = 0; step < steps; step++) {
				this.#act();
				await this.#advance();
				this.#stage.raise();
				if (step % 50 === 49) for (const partition of network.partitions) checker.checkIndex(partition);
			}
		}
		await this.#drain();
		if (!hot) await takeOver(this.#stage);
		for (const { host } of this.#stage.cluster.nodes) host.die();
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
		switch (
			random.weighted({ create: 20, claim: 22, grant: 8, hold: 38, operate: 8, lane: 2, read: 8, test: 10, fault: 6 })
		) {
			case "create":
				return this.#submitters.create();
			case "claim":
				return this.#claimants.claim(random.pick([0, 0, 500]));
			case "grant":
				return this.#claimants.grant();
			case "lane":
				return this.#lanes.change();
			case "hold":
				return this.#claimants.useLease();
			case "operate":
				return this.#operators.operate();
			case "read":
				return this.#operators.read();
			case "test":
				return this.#writers.write();
			case "fault":
				return strike(this.#stage, this.#claimants);
		}
	}

	/** No more faults: whatever was accepted must come to its end. */
	async #drain(): Promise<void> {
		const stage = this.#stage;
		const { world, checker } = stage;
		appease(stage);
		await world.runUntil(world.time + 3000);
		this.#claimants.forgetAll();
		for (let round = 0; round < DRAIN_ROUNDS; round++) {
			stage.raise();
			if (stage.unfinished().length === 0 && round > 3) break;
			// Again and again: a pause that was under way in a slow engine may land after the first.
			if (round % 20 === 0) this.#lanes.openAll();
			this.#claimants.claim(200, false);
			this.#claimants.completeAll();
			await world.runUntil(world.time + (round < 50 ? 50 : 500));
		}
		stage.raise();
		const [stuck] = stage.unfinished();
		if (stuck) throw new Violation(`stuck: ${stuck}`);
		for (const id of this.#submitters.acknowledged) {
			if (!checker.removed.has(id) && !stage.stored(id)) throw new Violation(`${id} was acknowledged and is lost`);
		}
		for (const partition of stage.network.partitions) checker.checkIndex(partition);
	}
}
