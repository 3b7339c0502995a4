import { slotOfId } from "../../src/kernel/ids.ts";
import { slotOfLane } from "../../src/kernel/records/lane.ts";
import { type Calm, PATIENCE_MS } from "./closing-acts.ts";
import { heal } from "./faults.ts";
import type { SimPartition } from "./sim-store.ts";
import type { Stage } from "./stage.ts";
import { asTenant, LANES } from "./tenants.ts";

const SUBMITTED = 12;
/** A lane that could not be copied everywhere is due again after a second. */
const SPREAD_AGAIN_MS = 1000;
/** Until whoever waited for a partition that was sick is through with it. */
const RECOVERY_MS = 12_000;

/** A lane changes while one partition is sick: what is due in the others is done in time all the same. */
export async function errand(calm: Calm): Promise<void> {
	const { stage } = calm;
	const { random, world, network } = stage;
	const tenant = stage.someTenant();
	const { length: partitions } = network.partitions;
	if (partitions === 1) return;
	const lane = random.pick(LANES);
	// Any but the one where the lane is at home: there it is changed first.
	const sick = (slotOfLane(tenant, lane) + random.integer(1, partitions - 1)) % partitions;
	const delayMs = SPREAD_AGAIN_MS + random.integer(500, 4000);
	const made: string[] = [];
	for (let n = 0; n < SUBMITTED; n++)
		made.push(...(await calm.submit(tenant, 1, { delayMs, idempotencyKey: `errand ${stage.count()}` })));
	const due = Math.max(...made.map((id) => calm.record(id).delayUntil)) - network.clock();

	makeSick(stage, network.partitions[sick] as SimPartition);
	stage.checker.lanes.mayChange(tenant, lane);
	stage.call(
		(backend) => asTenant(backend, tenant).lanes.pause(lane),
		() => {},
	);
	await world.runUntil(world.time + due + PATIENCE_MS);
	stage.raise();
	for (const id of made) {
		if ((slotOfId("ex", id) ?? 0) % partitions === sick) continue;
		const { eligibilityState } = calm.record(id);
		calm.require(
			eligibilityState !== "not_eligible_until_time",
			`${id} was due ${PATIENCE_MS} ms ago, and waits for partition ${sick}, to which a lane is copied`,
		);
	}
	stage.note("errands beside a sick partition");

	heal(network.partitions[sick] as SimPartition);
	await world.runUntil(world.time + RECOVERY_MS);
	stage.checker.lanes.mayChange(tenant, lane);
	await stage.answer((backend) => asTenant(backend, tenant).lanes.resume(lane));
	await calm.serve(tenant, "w1", made, LANES);
}

/** It says no, or nothing. */
export function makeSick({ random }: Stage, partition: SimPartition): void {
	if (random.chance(0.3)) partition.down = true;
	else partition.hang();
}
