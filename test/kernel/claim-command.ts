import type { CommandOf } from "../../src/kernel/kernel.ts";
import { eligibleQueue, type WorkClass } from "../../src/kernel/placement.ts";

/** A claim for one execution of a class; its leases are numbered by whoever claims. */
export function claimOne(
	work: WorkClass,
	leaseNumber: number,
	more: Partial<CommandOf<"claim">> = {},
): CommandOf<"claim"> & { op: "claim" } {
	const { namespace, lane } = work;
	return {
		op: "claim",
		namespace,
		lane,
		queues: [eligibleQueue(work)],
		capabilities: [],
		kinds: undefined,
		workerId: "w",
		instanceId: "w-1",
		max: 1,
		leaseMs: 1000,
		leaseUuids: [String(leaseNumber).padStart(32, "0")],
		inputBudget: 1e9,
		atLeastOne: true,
		actor: "w-1",
		...more,
	};
}
