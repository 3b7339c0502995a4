import { type Calm, PATIENCE_MS } from "./closing-acts.ts";
import { asTenant, LANES, otherThan, type Tenant } from "./tenants.ts";
import { Violation } from "./violation.ts";

/** What was reserved before a pause is not handed out under it; it may also be too late for that. */
async function refuseAccept({ stage }: Calm, tenant: Tenant, grantId: string): Promise<void> {
	const accept = stage.answer((backend) => asTenant(backend, tenant).leases.acceptGrant(grantId, { instanceId: "w2" }));
	await accept.catch((error) => {
		if (!(error instanceof Violation) || !/lane_paused|grant_expired/.test(error.message)) throw error;
	});
}

/** One tenant's pause holds from its answer on, stops no other's lane of that name, and ends for whoever waits. */
export async function pause(calm: Calm): Promise<void> {
	const { stage } = calm;
	const { checker } = stage;
	const tenant = stage.someTenant();
	const other = otherThan(tenant);
	const lane = stage.random.pick(LANES);
	const held = await calm.submit(tenant, 3, { lane });
	const request = { workerId: tenant, instanceId: "w2", lanes: [lane], grantTtlMs: 2000, waitMs: 500 };
	const granted = await stage.answer((backend) => asTenant(backend, tenant).leases.grant(request));
	await stage.answer((backend) => asTenant(backend, tenant).lanes.pause(lane));
	checker.lanes.answered(tenant, lane, "paused");
	if (granted) await refuseAccept(calm, tenant, granted.grantId);
	calm.claimEverywhere(tenant, "w1", [lane], [], 6000);
	const free = await calm.submit(other, 3, { lane });
	await calm.serve(other, "w1", free, [lane]);
	const { lane: shown, reasons } = await calm.explain(tenant, held[0] as string);
	calm.require(shown.state === "paused", `${tenant} paused ${lane} and is told ${reasons}`);
	const { lanes } = await stage.answer((backend) => asTenant(backend, other).lanes.list());
	const theirs = lanes.find((view) => view.lane === lane);
	calm.require(
		theirs?.state === "active",
		`${tenant} paused ${lane}, and ${other} is told that it is ${theirs?.state}`,
	);

	checker.lanes.mayChange(tenant, lane);
	await stage.answer((backend) => asTenant(backend, tenant).lanes.resume(lane));
	const isWoken = () => held.some((id) => calm.record(id).lifecyclePhase !== "runnable");
	calm.require(await stage.until(isWoken, PATIENCE_MS), `${lane} is open again, and who waited for it is not told`);
	await calm.serve(tenant, "w1", held, [lane]);
}
