import type { Stage } from "./stage.ts";
import { asTenant, LANES, TENANTS, type Tenant } from "./tenants.ts";

type Wish = "pause" | "resume" | "drain";

/** What operators know of a lane. */
interface KnownLane {
	tenant: Tenant;
	lane: string;
	/** What was asked for last. */
	wish: Wish;
	/** How often something was asked for. */
	asked: number;
	/** Answers that are still to come. */
	open: number;
	/** Something that was asked for and not answered may still be done until then. */
	unsureUntil: number;
}

/** How long after its caller gave up a change may still reach the store. */
const STRAGGLING_MS = 5000;

/** Operators who pause, drain and open lanes, change what age is worth in them, and remember what they were told. */
export class LaneChanges {
	readonly #stage: Stage;
	readonly #lanes = TENANTS.flatMap((tenant) =>
		LANES.map((lane): KnownLane => ({ tenant, lane, wish: "resume", asked: 0, open: 0, unsureUntil: 0 })),
	);

	constructor(stage: Stage) {
		this.#stage = stage;
	}

	change(): void {
		const { random } = this.#stage;
		const known = random.pick(this.#lanes);
		if (random.chance(0.2)) return this.#changeAging(known);
		if (known.wish === "resume") this.#ask(known, random.pick(["pause", "pause", "drain"]));
		else this.#ask(known, random.pick(["resume", "resume", "resume", "pause", "drain"]));
	}

	/** Asks the same for every lane of a tenant. */
	askAll(tenant: Tenant, wish: Wish): void {
		for (const known of this.#lanes) if (known.tenant === tenant) this.#ask(known, wish);
	}

	/** An answer holds until somebody asks for something else, unless what was asked before may still come after it. */
	#ask(known: KnownLane, wish: Wish): void {
		const { world, checker } = this.#stage;
		const { tenant, lane } = known;
		const isSure = known.open === 0 && world.time >= known.unsureUntil;
		const asked = known.asked + 1;
		const isSent = this.#stage.call(
			(backend) => asTenant(backend, tenant).lanes[wish](lane),
			(heard) => {
				known.open -= 1;
				if (heard.kind !== "ok") known.unsureUntil = world.time + STRAGGLING_MS;
				else if (isSure && known.asked === asked && wish !== "resume") {
					checker.lanes.answered(tenant, lane, wish === "pause" ? "paused" : "draining");
					this.#stage.note(`lane ${wish} answered`);
				}
			},
		);
		if (!isSent) return;
		known.wish = wish;
		known.asked = asked;
		known.open += 1;
		checker.lanes.mayChange(tenant, lane);
	}

	/** Whatever the lane is, it stays that. */
	#changeAging({ tenant, lane }: KnownLane): void {
		const agingMs = this.#stage.random.pick([0, 100, 1e12]);
		this.#stage.call(
			(backend) => asTenant(backend, tenant).lanes.update(lane, { agingMs }),
			() => this.#stage.note("agingMs changed"),
		);
	}
}
