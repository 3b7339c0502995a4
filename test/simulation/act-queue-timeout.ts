import { type Calm, PATIENCE_MS } from "./closing-acts.ts";
import { asTenant } from "./tenants.ts";

const ANYWHERE = ["default"];

/** Work that waits for a budget or quota does so no longer than `queueMs`; what it waited for is not owed to it. */
export async function queueTimeout(calm: Calm): Promise<void> {
	const { stage } = calm;
	const { world, random } = stage;
	const tenant = stage.someTenant();
	const quota = await calm.makeQuota(tenant, { concurrency: 1 });
	const budget = await calm.makeBudget(tenant, { dimensions: { tokens: { hard: 10 } } });
	await stage.answer((backend) => asTenant(backend, tenant).budgets.usage(budget, { dims: { tokens: 10 } }));
	const [first = ""] = await calm.submit(tenant, 1, { quotas: [quota] });
	const request = { workerId: tenant, instanceId: "w1", lanes: ANYWHERE, waitMs: 2000, leaseMs: 60_000 };
	const [held] = await stage.answer((backend) => asTenant(backend, tenant).leases.claim(request));
	calm.require(held?.id === first, `${first} waits, and a claim got ${held?.id ?? "nothing"}`);

	const queueMs = random.integer(500, 3000);
	const policy = { timeouts: { queueMs } };
	const waiting = await calm.submit(tenant, 3, { quotas: [quota], policy });
	waiting.push(...(await calm.submit(tenant, 2, { budgets: [budget], policy })));
	calm.claimEverywhere(tenant, "w2", ANYWHERE, [], 400);
	await world.runUntil(world.time + queueMs + PATIENCE_MS);
	stage.raise();
	for (const id of waiting) {
		const { terminalOutcome, eligibilityState } = calm.record(id);
		calm.require(
			terminalOutcome === "expired",
			`${id} has waited longer than ${queueMs} ms and is ${eligibilityState}`,
		);
	}
	stage.note("queue timeouts of blocked work");
	if (held) calm.completeAll(random.pick(stage.cluster.nodes), [held]);
	await calm.serve(tenant, "w2", await calm.submit(tenant, 1, { quotas: [quota] }), ANYWHERE);
}
