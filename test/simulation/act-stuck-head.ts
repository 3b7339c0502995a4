import { type Calm, PATIENCE_MS } from "./closing-acts.ts";
import { asTenant, type Tenant } from "./tenants.ts";

const MANY = 10;
const FEW = 3;
const ANYWHERE = ["default"];

/**
 * Whatever cannot be released hides nothing behind it: neither those who wait for something else, nor those who would
 * fit where it does not. And it stays where it is for as long as there is no room.
 */
export async function stuckHead(calm: Calm): Promise<void> {
	const { stage } = calm;
	const tenant = stage.someTenant();
	const [narrow, other] = [await spent(calm, tenant), await spent(calm, tenant)];
	const large = await calm.submit(tenant, MANY, { budgets: [narrow], reserve: { [narrow]: { tokens: 50 } } });
	const small = await calm.submit(tenant, FEW, { budgets: [narrow], reserve: { [narrow]: { tokens: 3 } } });
	const apart = await calm.submit(tenant, FEW, { budgets: [other] });
	const isBlocked = (id: string) => calm.record(id).eligibilityState === "blocked_by_budget";
	const all = [...large, ...small, ...apart];
	for (let n = 0; n < 20 && !all.every(isBlocked); n++) {
		calm.claimEverywhere(tenant, "w1", ANYWHERE, [], 300);
		await stage.until(() => all.every(isBlocked), 400);
	}
	calm.require(all.every(isBlocked), `${all.filter((id) => !isBlocked(id))} are not set aside for what is spent`);

	const storyOf = (ids: string[]) => ids.map((id) => calm.record(id).events).join();
	await raiseFor(calm, tenant, other, 100, apart);
	const before = storyOf(large);
	await raiseFor(calm, tenant, narrow, 20, small);
	await stage.world.runUntil(stage.world.time + stage.random.pick([0, 6000]));
	calm.require(storyOf(large) === before, `${large} were released, and there is no room for them`);
	stage.note("stuck heads passed by");
	await stage.answer((backend) => asTenant(backend, tenant).budgets.patch(narrow, { dimensions: { tokens: null } }));
	await calm.serve(tenant, "w1", large, ANYWHERE);
}

/** A budget of which all is spent. */
async function spent(calm: Calm, tenant: Tenant): Promise<string> {
	const id = await calm.makeBudget(tenant, { dimensions: { tokens: { hard: 10 } } });
	await calm.stage.answer((backend) => asTenant(backend, tenant).budgets.usage(id, { dims: { tokens: 10 } }));
	return id;
}

/** Those who wait run at once. */
async function raiseFor(calm: Calm, tenant: Tenant, budget: string, hard: number, waiting: string[]): Promise<void> {
	const { stage } = calm;
	calm.claimEverywhere(tenant, "w1", ANYWHERE, [], 4000);
	await stage.answer((backend) =>
		asTenant(backend, tenant).budgets.patch(budget, { dimensions: { tokens: { hard } } }),
	);
	const isWaiting = (id: string) => calm.record(id).lifecyclePhase === "runnable";
	calm.claimEverywhere(tenant, "w1", ANYWHERE, [], 4000);
	calm.require(
		await stage.until(() => !waiting.some(isWaiting), PATIENCE_MS),
		`${budget} was raised, and ${waiting.filter(isWaiting)} wait behind others`,
	);
}
