import { type Calm, PATIENCE_MS } from "./closing-acts.ts";
import { checkNoneOutlives } from "./grant-watch.ts";
import { asTenant } from "./tenants.ts";
import { Violation } from "./violation.ts";

/** What is reserved is nobody else's for exactly as long as the grant lasts, and then whoever waits is given it. */
export async function grant(calm: Calm): Promise<void> {
	const { stage } = calm;
	const tenant = stage.someTenant();
	const lanes = ["default"];
	const [id = ""] = await calm.submit(tenant, 1, {});
	const grantTtlMs = stage.random.integer(50, 1500);
	const request = { workerId: tenant, instanceId: "w1", lanes, grantTtlMs, waitMs: 500 };
	const granted = await stage.answer((backend) => asTenant(backend, tenant).leases.grant(request));
	calm.require(granted?.executionId === id, `${id} waits, and a grant got ${granted?.executionId ?? "nothing"}`);
	const accept = async () =>
		stage.answer((backend) =>
			asTenant(backend, tenant).leases.acceptGrant(granted?.grantId ?? "", { instanceId: "w1" }),
		);
	if (stage.random.chance(0.3) && calm.record(id).grant) {
		const isLate = await accept().then(
			() => false,
			(error) => error instanceof Violation && error.message.includes("grant_expired"),
		);
		if (!isLate) {
			calm.require(calm.record(id).lease !== null, `${id} was accepted and is not held`);
			const { id: leaseId = "", epoch = 0 } = calm.record(id).lease ?? {};
			await stage.answer((backend) => backend.leases.complete(id, { fence: { leaseId, epoch } }));
			return;
		}
	}
	calm.claimEverywhere(tenant, "w2", lanes, [], 5000);
	const isServed = () => calm.record(id).lifecyclePhase === "terminal";
	const wasServed = await stage.until(isServed, grantTtlMs + PATIENCE_MS);
	for (const partition of stage.network.partitions) checkNoneOutlives(partition, PATIENCE_MS);
	calm.require(wasServed, `${id} was reserved for ${grantTtlMs} ms, and who waits for it has not been given it`);
}
