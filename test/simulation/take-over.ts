import { Violation } from "./checker.ts";
import type { Stage } from "./stage.ts";

const TAKE_OVER_MS = 3000;
/** What a slow store and a drifting clock may add. */
const PATIENCE_MS = 1500;

/** One engine dies; whatever was due where it minded things is done within 3 seconds, and what the store takes. */
export async function takeOver(stage: Stage): Promise<void> {
	const { world, random, network, cluster } = stage;
	// Engines that stood still wake up, clocks that ran ahead are caught up with, and all hear of each other.
	const ahead = Math.max(...network.partitions.map(({ time }) => time)) - network.clock();
	stage.clockOffset += Math.max(0, ahead);
	await world.runUntil(world.time + 75_000);
	const delayMs = random.integer(1, 2000);
	const made: string[] = [];
	for (let n = 0; n < 3 * network.partitions.length; n++) {
		const request = { kind: "a", delayMs, idempotencyKey: `last ${n}` };
		stage.call(
			(backend) => backend.executions.create(request),
			(heard) => {
				if (heard.kind === "ok") made.push(heard.value.id);
			},
		);
	}
	await world.runUntil(world.time + random.integer(0, 2500));
	if (cluster.nodes.length > 1) cluster.crash(random.integer(0, cluster.nodes.length - 1));
	await world.runUntil(world.time + Math.max(delayMs, TAKE_OVER_MS) + PATIENCE_MS);
	stage.raise();
	const late = made.filter((id) => stage.stored(id)?.includes('"not_eligible_until_time"'));
	if (late.length > 0) throw new Violation(`${late} should have been seen to when an engine died`);
}
