import { type Calm, PATIENCE_MS } from "./closing-acts.ts";

const SUBMITTED = 18;
const ANYWHERE = ["default"];

/** What a rate admits comes to run as fast as it allows, over all engines; that it is no faster is watched all the time. */
export async function rate(calm: Calm): Promise<void> {
	const { stage } = calm;
	const { random, world } = stage;
	const tenant = stage.someTenant();
	const [max, windowMs] = [random.integer(1, 4), random.integer(100, 400)];
	const quota = await calm.makeQuota(tenant, { rate: { max, windowMs } });
	const made = await calm.submit(tenant, SUBMITTED, { quotas: [quota] });
	const isLeft = (id: string) => calm.record(id).lifecyclePhase !== "terminal";
	// As many windows as it takes, each with the way from its end to a claim that waits.
	const end = world.time + (Math.ceil(SUBMITTED / max) + 1) * (windowMs + PATIENCE_MS / 2) + PATIENCE_MS;
	while (made.some(isLeft) && world.time < end) {
		calm.claimEverywhere(tenant, "w1", ANYWHERE, [], 400);
		await stage.until(() => !made.some(isLeft), 100);
	}
	calm.require(!made.some(isLeft), `${quota} admits ${max} in ${windowMs} ms, and ${made.filter(isLeft)} still wait`);
	stage.note("rates kept");
}
