import { type Calm, PATIENCE_MS } from "./closing-acts.ts";
import { otherThan, RARE_CAPABILITY } from "./tenants.ts";

const NEEDED = [RARE_CAPABILITY];
const ANYWHERE = ["default"];

/**
 * Work that nobody of its tenant can serve is set aside, whoever another tenant has; it hides nothing behind it, and is
 * there again, and stays there, from the moment somebody comes who can serve it.
 */
export async function arrival(calm: Calm): Promise<void> {
	const { stage } = calm;
	const tenant = stage.someTenant();
	const other = otherThan(tenant);
	await calm.register(other, "w1", NEEDED, ANYWHERE);
	await calm.register(tenant, "w1", [], ANYWHERE);
	const waiting = await calm.submit(tenant, 3, { requiredCapabilities: NEEDED });
	const plain = await calm.submit(tenant, 1, {});
	const isBlocked = (id: string) => calm.record(id).eligibilityState === "blocked_by_route";

	await calm.serve(tenant, "w1", plain, ANYWHERE);
	calm.claimEverywhere(other, "w1", ANYWHERE, NEEDED, 200);
	calm.claimEverywhere(tenant, "w1", ANYWHERE, [], 200);
	const areSetAside = await stage.until(() => waiting.every(isBlocked), PATIENCE_MS);
	calm.require(areSetAside, `${tenant} has nobody for ${waiting}, and they are not set aside`);
	const { workers, missingCapabilities } = await calm.explain(tenant, waiting[0] as string);
	calm.require(
		workers?.live === 1 && workers.able === 0 && String(missingCapabilities) === RARE_CAPABILITY,
		`${tenant} is told that of its ${workers?.live} workers ${workers?.able} can, and lacks ${missingCapabilities}`,
	);

	await calm.register(other, "w2", NEEDED, ANYWHERE);
	await stage.world.runUntil(stage.world.time + 500);
	stage.raise();
	calm.require(waiting.every(isBlocked), `a worker of ${other} released work of ${tenant}`);

	await calm.register(tenant, "w2", NEEDED, ANYWHERE);
	calm.require(!waiting.some(isBlocked), `${waiting} are set aside although somebody has come for them`);
	waiting.push(...(await calm.submit(tenant, 2, { requiredCapabilities: NEEDED })));
	calm.claimEverywhere(tenant, "w1", ANYWHERE, [], 200);
	await stage.world.runUntil(stage.world.time + 400);
	// Whoever looked at the registry before that may have set them aside, and must have seen to it by now.
	await stage.until(() => !waiting.some(isBlocked), PATIENCE_MS);
	calm.require(!waiting.some(isBlocked), `one who cannot serve ${waiting} had them set aside, and another can`);
	await calm.serve(tenant, "w2", waiting, ANYWHERE, NEEDED);
	await calm.leave(tenant, ["w1", "w2"]);
	await calm.leave(other, ["w1", "w2"]);
}
