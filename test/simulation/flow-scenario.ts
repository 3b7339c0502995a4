import { appease, settleDown, strike } from "./faults.ts";
import { FlowMakers } from "./flow-makers.ts";
import { FlowOperators } from "./flow-operators.ts";
import { FlowWorkers } from "./flow-workers.ts";
import { type Bugs, Stage } from "./stage.ts";
import { TENANTS, type Tenant } from "./tenants.ts";
import { Violation } from "./violation.ts";
import type { WatchedFlow } from "./watched-flow.ts";

/** Enough for the slow sweep of every engine, which is the last net under all that was missed. */
const DRAIN_ROUNDS = 900;

/** How often, at the end, members of flows that have ended are replayed. */
const REPLAYS = 3;

/** One seeded history of flows: made, built, run, cancelled and replayed under faults; then calm, and every flow must end. */
export class FlowScenario {
	readonly #stage: Stage;
	readonly #makers: FlowMakers;
	readonly #workers: FlowWorkers;
	readonly #operators: FlowOperators;

	constructor(seed: number, bugs: Bugs) {
		const stage = new Stage(seed, bugs);
		this.#stage = stage;
		this.#makers = new FlowMakers(stage);
		this.#workers = new FlowWorkers(stage);
		this.#operators = new FlowOperators(stage, this.#makers.known);
		stage.checker.flows.onSeen = (what) => stage.note(what);
	}

	/** What happened how often. */
	get seen(): ReadonlyMap<string, number> {
		return this.#stage.seen;
	}

	/** Runs the history; throws what it violated. */
	async run(steps: number): Promise<void> {
		const stage = this.#stage;
		const { world, checker, network, cluster } = stage;
		await world.runUntil(100);
		for (let step = 0; step < steps; step++) {
			this.#act();
			await this.#advance();
			stage.raise();
		}
		await this.#comeToRest();
		for (let n = 0; n < REPLAYS; n++) {
			for (const flow of checker.flows.all.values()) if (flow.flow && !flow.isCancelled) this.#operators.replay(flow);
			await stage.world.runUntil(stage.world.time + 2000);
			await this.#drain();
		}
		this.#makers.checkGraphs();
		await this.#clearAway();
		for (const partition of network.partitions) checker.checkIndex(partition);
		for (const { host } of cluster.nodes) host.die();
	}

	#act(): void {
		const { random } = this.#stage;
		switch (random.weighted({ create: 2, grow: 12, claim: 14, work: 26, operate: 10, read: 6, fault: 3 })) {
			case "create":
				return this.#makers.create();
			case "grow":
				return this.#makers.grow();
			case "claim":
				return this.#workers.claim(random.pick([0, 0, 300]));
			case "work":
				return this.#workers.work();
			case "operate":
				return this.#operators.operate();
			case "read":
				return this.#operators.read();
			case "fault":
				return strike(this.#stage, this.#workers);
		}
	}

	async #advance(): Promise<void> {
		const { random, world } = this.#stage;
		const how = random.next();
		if (how < 0.5) for (let n = random.integer(1, 8); n > 0; n--) await world.step();
		else if (how < 0.96) await world.runUntil(world.time + random.integer(1, 60));
		else await world.runUntil(world.time + random.integer(100, 2000));
	}

	/** No more faults: whatever was begun must come to its end, and what a slow engine does much later too. */
	async #comeToRest(): Promise<void> {
		const stage = this.#stage;
		appease(stage);
		do {
			await this.#drain();
			await settleDown(stage);
		} while (this.#open().length > 0);
	}

	async #drain(): Promise<void> {
		const stage = this.#stage;
		const { world, checker } = stage;
		for (let round = 0; round < DRAIN_ROUNDS; round++) {
			stage.raise();
			if (round > 3 && this.#makers.isDone && this.#open().length === 0) return;
			this.#makers.growAll();
			if (round % 10 === 0) {
				this.#operators.resumeAll();
				for (const { id, flow } of this.#open())
					if (flow && !flow.isSealed) this.#makers.adopt(id, flow.namespace as Tenant);
				this.#endPaused();
			}
			for (const tenant of TENANTS) this.#workers.claim(100, 8, tenant);
			this.#workers.finish(round < 40 ? 0.25 : 0);
			this.#operators.read();
			await world.runUntil(world.time + (round < 100 ? 50 : 500));
		}
		const [stuck] = this.#open();
		const left = [...(stuck?.members.keys() ?? [])].filter((id) => checker.recordOf(id)?.lifecyclePhase !== "terminal");
		throw new Violation(`stuck: ${JSON.stringify(stuck?.flow)}: ${left.map((id) => stage.stored(id)).join("; ")}`);
	}

	/** Flows that have not ended. */
	#open(): WatchedFlow[] {
		return [...this.#stage.checker.flows.all.values()].filter(({ flow }) => flow?.outcome === "");
	}

	/** What was cancelled alone stays as it is until somebody cancels its members too. */
	#endPaused(): void {
		for (const { id, flow } of this.#open())
			if (flow?.cancel?.policy === "flow_only" && flow.cancelFrom === 0) this.#operators.cancelFlow(id, "cancel_all");
	}

	/** What has ended can be removed, and leaves nothing behind. */
	async #clearAway(): Promise<void> {
		const stage = this.#stage;
		const { flows } = stage.checker;
		for (const { id, flow } of flows.all.values()) if (flow && stage.random.chance(0.5)) this.#operators.delete(id);
		await stage.world.runUntil(stage.world.time + 5000);
		stage.raise();
		flows.checkAtRest(stage.network.partitions);
	}
}
