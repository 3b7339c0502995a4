import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import type { Calm } from "./closing-acts.ts";
import type { Node } from "./cluster.ts";
import { asTenant } from "./tenants.ts";

const MANY = 20;
const FEW = 3;
/** Keys take turns also where they wait; each partition has turns of its own, and what is under way is not overtaken. */
const MARGIN = 8;

/** Under a quota of a few, one key's backlog does not keep another waiting, and all of both come to run. */
export async function quotaTurns(calm: Calm): Promise<void> {
	const { stage } = calm;
	const tenant = stage.someTenant();
	const concurrency = stage.random.integer(1, 3);
	const quota = await calm.makeQuota(tenant, { concurrency });
	const node = stage.cluster.someNode() as Node;
	const many = await calm.submit(tenant, MANY, { fairnessKey: "many", quotas: [quota] });
	const few = await calm.submit(tenant, FEW, { fairnessKey: "few", quotas: [quota] });
	await stage.world.runUntil(stage.world.time + 600);
	const hasEnded = (id: string) => calm.record(id).lifecyclePhase === "terminal";
	const request = { workerId: tenant, instanceId: "w1", max: 4, waitMs: 1500, leaseMs: 3000 };
	let isJoint = false;
	for (let round = 0; ![...many, ...few].every(hasEnded); round++) {
		calm.require(round <= MANY + FEW, `${tenant} claims, and of ${quota} ${many.filter(hasEnded).length} have ended`);
		const claimed = await stage.answer((backend) => asTenant(backend, tenant).leases.claim(request), node, 5000);
		calm.require(claimed.length <= concurrency, `${quota} admits ${concurrency}, and ${claimed.length} were claimed`);
		calm.completeAll(node, claimed);
		await stage.world.runUntil(stage.world.time + 50);
		const before = many.filter(hasEnded).length;
		if (round === 0) isJoint = areSetAsideTogether([...many, ...few].map((id) => calm.record(id)));
		calm.require(
			!isJoint || few.every(hasEnded) || before <= concurrency + FEW + MARGIN,
			`${before} of ${MANY} have ended, and of ${FEW} under another key ${few.filter(hasEnded).length}`,
		);
	}
	stage.note("turns taken under a quota");
}

/** A turn is a time: of those that come to wait later than others the first may stand behind the last of them. */
function areSetAsideTogether(records: readonly ExecutionRecord[]): boolean {
	const waiting = records.filter(({ lifecyclePhase }) => lifecyclePhase === "runnable");
	const times = waiting.map(({ blockedAt }) => blockedAt);
	return Math.min(...times) > 0 && Math.max(...times) - Math.min(...times) < 3;
}
