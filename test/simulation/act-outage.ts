import { makeSick } from "./act-errand.ts";
import type { Calm } from "./closing-acts.ts";
import { heal } from "./faults.ts";
import { asTenant, LANES } from "./tenants.ts";
import { Violation } from "./violation.ts";

const OUTAGE_MS = 16_000;
/** Until engines have asked again, and what was on its way has come to something. */
const RECOVERY_MS = 6000;

/**
 * All of the store is gone for a while. Nobody who claims meanwhile is told that there is no work; when it is back, what
 * was due meanwhile is done.
 */
export async function outage(calm: Calm): Promise<void> {
	const { stage } = calm;
	const { random, world, network, cluster } = stage;
	const tenant = stage.someTenant();
	const made: string[] = [];
	for (let n = 0; n < 6; n++) made.push(...(await calm.submit(tenant, 1, { delayMs: random.integer(500, OUTAGE_MS) })));
	for (const partition of network.partitions) makeSick(stage, partition);
	let isOver = false;
	for (let n = 0; n < 4; n++) {
		await world.runUntil(world.time + random.integer(1, 1000));
		const request = { workerId: tenant, instanceId: `w${n}`, lanes: LANES, waitMs: random.pick([0, 0, 700]) };
		stage.settle(
			cluster.call(random.pick(cluster.nodes), 0, (backend) => asTenant(backend, tenant).leases.claim(request)),
			(heard) => {
				if (isOver) return;
				if (heard.kind === "ok") throw new Violation("the store was gone, and a claim was told that there is no work");
				stage.note("claims refused in an outage");
			},
		);
	}
	await world.runUntil(world.time + OUTAGE_MS);
	stage.raise();
	isOver = true;
	for (const partition of network.partitions) heal(partition);
	const isWaiting = (id: string) => calm.record(id).eligibilityState === "not_eligible_until_time";
	const wasDone = await stage.until(() => !made.some(isWaiting), RECOVERY_MS);
	calm.require(wasDone, `${made.find(isWaiting)} was due while the store was gone, and still waits`);
	await world.runUntil(world.time + RECOVERY_MS);
	await calm.serve(tenant, "w1", made, LANES);
	stage.note("outages survived");
}
