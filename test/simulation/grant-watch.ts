import type { ExecutionEvent } from "../../src/kernel/events.ts";
import { kernel } from "../../src/kernel/kernel.ts";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import { TIME_TOLERANCE_MS } from "../../src/store/port.ts";
import type { SimPartition } from "./sim-store.ts";
import { Violation } from "./violation.ts";

/** A grant is turned into a lease only within its time, by whom it was given to, and ends neither early nor late. */
export function checkGrant(event: ExecutionEvent, before: ExecutionRecord | undefined, time: number): void {
	const { grant } = before ?? {};
	if (!grant) return;
	const { type, executionId, at, actor } = event;
	if (type === "claimed") {
		if (grant.expiresAt <= at || grant.expiresAt + TIME_TOLERANCE_MS <= time)
			throw new Violation(`${executionId} was leased at ${at}, its grant ended at ${grant.expiresAt}`);
		if (actor !== grant.instanceId)
			throw new Violation(`${executionId} was reserved for ${grant.instanceId} and went to ${actor}`);
	}
	// A budget that pauses what it has admitted takes it out of the hands of those it is reserved for.
	if (type === "grant_lapsed" && grant.expiresAt > time && actor !== "breach")
		throw new Violation(`${executionId}: a grant lapsed ${grant.expiresAt - time} ms early`);
}

/** Where engines are up, nothing stays reserved for longer than its time and what a tick may take. */
export function checkNoneOutlives(partition: SimPartition, patienceMs: number): void {
	for (const [key, { doc }] of partition.records) {
		if (!key.startsWith("ex_") || key.includes("/")) continue;
		const { grant } = kernel.decode(key, doc) as ExecutionRecord;
		if (grant && grant.expiresAt + patienceMs < partition.time)
			throw new Violation(`${key} is still reserved ${partition.time - grant.expiresAt} ms after its grant's time`);
	}
}
