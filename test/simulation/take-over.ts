import { PATIENCE_MS, TAKE_OVER_MS } from "./closing-acts.ts";
import { checkNoneOutlives } from "./grant-watch.ts";
import type { Stage } from "./stage.ts";
import { Violation } from "./violation.ts";

/** One engine dies; whatever was due where it minded things is done within 3 seconds, and what the store takes. */
export async function takeOver(stage: Stage): Promise<void> {
	const { world, random, network, cluster } = stage;
	const delayMs = random.integer(1, 2000);
	const made: string[] = [];
	for (let n = 0; n < 3 * network.partitions.length; n++) {
		const delayed = { kind: "a", delayMs, idempotencyKey: `last ${n}` };
		stage.call(
			(backend) => backend.executions.create(delayed),
			(heard) => {
				if (heard.kind === "ok") made.push(heard.value.id);
			},
		);
		stage.call((backend) => backend.executions.create({ kind: "a", idempotencyKey: `reserved ${n}` }), ignore);
		const reserve = { workerId: "default", instanceId: "w1", grantTtlMs: delayMs, waitMs: 200 };
		stage.call((backend) => backend.leases.grant(reserve), ignore);
	}
	await world.runUntil(world.time + random.integer(0, 2500));
	if (cluster.nodes.length > 1) cluster.crash(random.integer(0, cluster.nodes.length - 1));
	await world.runUntil(world.time + Math.max(delayMs, TAKE_OVER_MS) + PATIENCE_MS);
	stage.raise();
	const late = made.filter((id) => stage.checker.recordOf(id)?.eligibilityState === "not_eligible_until_time");
	if (late.length > 0) throw new Violation(`${late} should have been seen to when an engine died`);
	for (const partition of network.partitions) checkNoneOutlives(partition, 0);
}

const ignore = () => {};
