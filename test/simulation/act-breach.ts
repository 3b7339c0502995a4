import type { ClaimedExecution } from "../../src/contract/replies.ts";
import type { OnHard } from "../../src/kernel/records/budget.ts";
import { type Calm, PATIENCE_MS } from "./closing-acts.ts";
import { asTenant, type Tenant } from "./tenants.ts";

const ANYWHERE = ["default"];

/** A report is refused: whoever holds the budget is told, or stopped, as it says, and nobody else is admitted. */
export async function breach(calm: Calm): Promise<void> {
	const { stage } = calm;
	const { random } = stage;
	const tenant = stage.someTenant();
	const onHard = random.pick(["block", "fail", "cancel", "suspend"] as const);
	const budget = await calm.makeBudget(tenant, { dimensions: { tokens: { hard: 50 } }, onHard });
	await calm.submit(tenant, 3, { budgets: [budget], policy: { retry: { maxRetries: 2 } } });
	const who = { workerId: tenant, instanceId: "w1", lanes: ANYWHERE };
	const granted = await stage.answer((backend) =>
		asTenant(backend, tenant).leases.grant({ ...who, grantTtlMs: 30_000, waitMs: 2000 }),
	);
	const running: ClaimedExecution[] = [];
	for (let n = 0; n < 4 && running.length < 2; n++)
		running.push(
			...(await stage.answer((backend) => asTenant(backend, tenant).leases.claim({ ...who, max: 2, waitMs: 1000 }))),
		);
	calm.require(running.length === 2 && granted !== null, `${tenant} claimed, and was given ${running.length} of 2`);

	const report = { dims: { tokens: 51 } };
	const { outcome } = await stage.answer((backend) => asTenant(backend, tenant).budgets.usage(budget, report));
	calm.require(outcome === "hard_breach", `${budget} has 50, and a report of 51 was ${outcome}`);
	const [later = ""] = await calm.submit(tenant, 1, { budgets: [budget] });
	calm.claimEverywhere(tenant, "w2", ANYWHERE, [], 1000);
	for (const { id } of running) {
		const isTold = () => hasHeard(calm, id, onHard);
		// It is one step for the budget and one for each holder, and every one of them may be slow.
		calm.require(
			await stage.until(isTold, 2 * PATIENCE_MS),
			`${id} holds ${budget}, was to ${onHard}, and was not told`,
		);
	}
	await checkRenewals(calm, tenant, running, onHard);
	await checkGranted(calm, tenant, granted?.grantId ?? "", granted?.executionId ?? "", onHard);
	calm.require(calm.record(later).lease === null, `${budget} refused a report, and ${later} was admitted`);
	stage.note("breaches told");

	const dimensions = { tokens: { hard: 1000 } };
	await stage.answer((backend) => asTenant(backend, tenant).budgets.patch(budget, { dimensions }));
	if (onHard === "suspend") {
		const goOn = () => running.every(({ id }) => calm.record(id).lifecyclePhase !== "suspended");
		calm.require(await stage.until(goOn, PATIENCE_MS), `${budget} was raised, and ${running[0]?.id} is still paused`);
		await calm.serve(tenant, "w2", [...running.map(({ id }) => id), granted?.executionId ?? ""], ANYWHERE);
		stage.note("pauses by budgets ended");
	}
	for (const { id } of running)
		if (calm.record(id).lifecyclePhase !== "terminal")
			await stage.answer((backend) => backend.executions.cancel(id, { mode: "force" }));
	await calm.serve(tenant, "w2", [later], ANYWHERE);
}

function hasHeard(calm: Calm, id: string, onHard: OnHard): boolean {
	const { lifecyclePhase, failure, cancel, lease, suspension } = calm.record(id);
	if (onHard === "suspend") return suspension?.budget !== undefined;
	if (onHard === "fail") return lifecyclePhase === "terminal" && failure?.category === "budget_exceeded";
	if (onHard === "cancel") return cancel?.source === "budget";
	return lease?.breach !== undefined;
}

async function checkRenewals(
	calm: Calm,
	tenant: Tenant,
	running: readonly { id: string; lease: { id: string; epoch: number } }[],
	onHard: OnHard,
): Promise<void> {
	const leases = running.map(({ id, lease }) => ({ executionId: id, leaseId: lease.id, epoch: lease.epoch }));
	const answers = await calm.stage.answer((backend) => asTenant(backend, tenant).leases.renew({ leases }));
	for (const { executionId, ok, budgetBreach } of answers)
		calm.require(
			budgetBreach?.action === onHard && ok === (onHard === "block" || onHard === "cancel"),
			`${executionId} renewed ${ok ? "well" : "in vain"} and is told ${JSON.stringify(budgetBreach)}, to ${onHard}`,
		);
}

/** What was admitted before and is leased after is treated like those that ran. */
async function checkGranted(calm: Calm, tenant: Tenant, grantId: string, id: string, onHard: OnHard): Promise<void> {
	const { stage } = calm;
	if (onHard === "suspend") {
		calm.require(calm.record(id).grant === null, `${id} was granted before ${onHard}, and still is`);
		return;
	}
	if (onHard !== "block") {
		calm.require(calm.record(id).lifecyclePhase === "terminal", `${id} was granted, was to ${onHard}, and goes on`);
		return;
	}
	const accepted = await stage.answer((backend) =>
		asTenant(backend, tenant).leases.acceptGrant(grantId, { instanceId: "w1" }),
	);
	await checkRenewals(calm, tenant, [accepted], onHard);
	const fence = { leaseId: accepted.lease.id, epoch: accepted.lease.epoch };
	await stage.answer((backend) => backend.leases.complete(id, { fence }));
}
