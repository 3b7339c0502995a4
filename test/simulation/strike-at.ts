import type { Unit } from "../../src/store/port.ts";
import type { Node } from "./cluster.ts";
import type { Stage } from "./stage.ts";

/** A unit behind which the next step is never made by the one who made this. */
export type Point = (unit: Unit) => boolean;

/**
 * The engine that commits one of the first such units dies of it, and is started again a little later; or it stands
 * still, and all the work is there when it goes on if nobody claims until then.
 */
export function strikeAt(stage: Stage, isPoint: Point, mostPassed: number): { isStruck: boolean; quietUntil: number } {
	const { cluster, network, random, world } = stage;
	const struck = { isStruck: false, quietUntil: 0 };
	let passing = random.integer(0, mostPassed);
	network.onApplied = (unit, engine) => {
		if (struck.isStruck || !isPoint(unit) || passing-- > 0) return;
		const slot = cluster.nodes.findIndex(({ host }: Node) => host.name === engine && host.alive);
		if (slot < 0) return;
		struck.isStruck = true;
		if (random.chance(0.5)) {
			// For longer than a hold lasts, and others take to see to it: what it then does is about holds that are over.
			const stillMs = random.integer(5200, 12_000);
			stage.awakeFrom = world.time + stillMs;
			if (random.chance(0.7)) struck.quietUntil = stage.awakeFrom + 500;
			world.after(0, () => cluster.nodes[slot]?.host.pause(stillMs, random.chance(0.5)));
			return;
		}
		// The unit is applied, and its engine never hears of it, or only of that.
		world.after(random.pick([0, 0, 5]), () => cluster.crash(slot));
		world.after(random.integer(50, 1000), () => cluster.start(slot));
	};
	return struck;
}
