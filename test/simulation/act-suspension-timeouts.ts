import { TIMEOUT_BEHAVIORS, type TimeoutBehavior } from "../../src/kernel/records/execution.ts";
import { publicState } from "../../src/kernel/state.ts";
import { type Calm, PATIENCE_MS, TAKE_OVER_MS } from "./closing-acts.ts";

const LATEST_MS = 1500;

/** What waits for longer than it said is treated as it said, in time, also if the engine is gone that was to see to it. */
export async function suspensionTimeouts(calm: Calm): Promise<void> {
	const { stage } = calm;
	const { random, cluster, world } = stage;
	const tenant = stage.someTenant();
	const waiting = new Map<TimeoutBehavior, string>();
	// What is resumed can be claimed: it comes last, so that it stands before nothing that is yet to be.
	const behaviors = [...TIMEOUT_BEHAVIORS.filter((behavior) => behavior !== "resume"), "resume" as const];
	for (const timeoutBehavior of behaviors) {
		const [id = ""] = await calm.submit(tenant, 1, {});
		const fence = await calm.claimOne(tenant, id);
		await stage.answer((backend) =>
			backend.leases.suspend(id, {
				fence,
				reason: "waiting_for_approval",
				condition: { signal: "go" },
				waitpoints: [{ key: "w" }],
				timeoutMs: random.integer(500, LATEST_MS),
				timeoutBehavior,
			}),
		);
		waiting.set(timeoutBehavior, id);
	}
	if (cluster.nodes.length > 1 && random.chance(0.5)) {
		const slot = random.integer(0, cluster.nodes.length - 1);
		cluster.crash(slot);
		world.after(LATEST_MS + TAKE_OVER_MS, () => cluster.start(slot));
	}
	await world.runUntil(world.time + LATEST_MS + TAKE_OVER_MS + PATIENCE_MS);
	stage.raise();
	const expected = { fail: "failed", cancel: "cancelled", expire: "expired", resume: "waiting", escalate: "suspended" };
	for (const [behavior, id] of waiting) {
		const state = publicState(calm.record(id));
		calm.require(state === expected[behavior], `${id} timed out, was to ${behavior}, and is ${state}`);
	}
	const escalated = waiting.get("escalate") ?? "";
	const { blockingReason } = calm.record(escalated);
	calm.require(blockingReason === "paused_by_operator", `${escalated} is escalated, and is ${blockingReason}`);
	const { effect } = await stage.answer((backend) => backend.waitpoints.approve(escalated, { name: "go" }));
	calm.require(effect === "resumed", `${escalated} is escalated, and its answer was ${effect}`);
	stage.note("timeouts of suspensions kept");
	await calm.serve(tenant, "w1", [waiting.get("resume") ?? "", escalated], ["default"]);
}
