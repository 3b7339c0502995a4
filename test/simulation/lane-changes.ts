import type { Stage } from "./stage.ts";
import { LANES } from "./tenants.ts";

interface KnownLane {
	paused: boolean;
	open: number;
	unsure: boolean;
}

/** Operators who open and close lanes, and remember what they were told. */
export class LaneChanges {
	readonly #stage: Stage;
	readonly #lanes = new Map<string, KnownLane>(LANES.map((lane) => [lane, { paused: false, open: 0, unsure: false }]));

	constructor(stage: Stage) {
		this.#stage = stage;
	}

	/** A pause that is answered holds until somebody asks for something else, unless an earlier answer is still out. */
	change(): void {
		const { random, checker, calm } = this.#stage;
		const lane = random.pick(LANES);
		const known = this.#lanes.get(lane) as KnownLane;
		known.paused = !known.paused && !calm;
		known.unsure ||= known.open > 0;
		known.open += 1;
		const { paused } = known;
		checker.laneMayOpen(lane);
		this.#stage.call(
			(backend) => (paused ? backend.lanes.pause(lane) : backend.lanes.resume(lane)),
			(heard) => {
				known.open -= 1;
				known.unsure ||= heard.kind !== "ok";
				if (paused && !known.unsure) checker.lanePaused(lane);
			},
		);
	}

	openAll(): void {
		for (const [lane, known] of this.#lanes) {
			known.unsure = true;
			this.#stage.checker.laneMayOpen(lane);
			this.#stage.call(
				(backend) => backend.lanes.resume(lane),
				() => {},
			);
		}
	}
}
