import type { Calm } from "./closing-acts.ts";
import type { Node } from "./cluster.ts";
import { asTenant, otherThan } from "./tenants.ts";

const BACKLOG = 16;
/** Keys take turns, so two of them are served alternately; each partition may begin with a turn of its own. */
const MOST_BEFORE = 8;

/** One key's backlog does not keep another waiting, nor does another tenant's under the same key. */
export async function turns(calm: Calm): Promise<void> {
	const { stage } = calm;
	const tenant = stage.someTenant();
	// Where claims come in at several engines, each has turns of its own: all of these come in at one.
	const node = stage.cluster.someNode() as Node;
	const many = await calm.submit(tenant, BACKLOG, { fairnessKey: "many" });
	await calm.submit(otherThan(tenant), BACKLOG, { fairnessKey: "few" });
	const few = await calm.submit(tenant, 2, { fairnessKey: "few" });
	// Until it has heard of all of them.
	await stage.world.runUntil(stage.world.time + 600);
	const request = { workerId: tenant, instanceId: "w1", waitMs: 1000 };
	let served = 0;
	for (const left = new Set(few); left.size > 0; served++) {
		const claimed = await stage.answer((backend) => asTenant(backend, tenant).leases.claim(request), node);
		calm.completeAll(node, claimed);
		for (const { id } of claimed) left.delete(id);
		// A turn is a time, and what an engine takes for the time of two partitions may differ by as much as clocks drift.
		await stage.world.runUntil(stage.world.time + 50);
		calm.require(served - 2 < MOST_BEFORE, `${served} were served, and of two under another key ${left.size} wait`);
	}
	stage.note("turns taken");
	await calm.serve(tenant, "w1", many, ["default"]);
	const others = stage.unfinished(otherThan(tenant));
	await calm.serve(otherThan(tenant), "w1", others, ["default"]);
}
