import type { FlowFabric } from "../../library/flowfabric.ts";
import type { DemoKinds } from "./demo-worker.ts";

export interface Sample {
	title: string;
	id: string;
}

/** How long the machine that vanishes had its work for. */
const VANISHED_LEASE_MS = 400;

/** Sample work, submitted before the worker starts, so that another machine can take some of it and vanish. */
export async function submitSamples(ff: FlowFabric<DemoKinds>): Promise<Sample[]> {
	const lost = await ff.submit("slow", { steps: 3 });
	// Older samples of an earlier run may wait here too, which is why it takes all there is.
	await ff.backend.leases.claim({
		workerId: "vanishing",
		instanceId: "vanished-machine",
		kinds: ["slow"],
		max: 256,
		leaseMs: VANISHED_LEASE_MS,
	});
	const retry = { backoff: { type: "fixed" as const, delayMs: 200 } };
	const greet = await ff.submit("greet", { name: "world" });
	const flaky = await ff.submit("flaky", { failures: 2 }, { policy: { retry } });
	const slow = await ff.submit("slow", { steps: 5 });
	return [
		{ title: "works at once", id: greet.id },
		{ title: "fails twice, is retried", id: flaky.id },
		{ title: "tells how far it is", id: slow.id },
		{ title: "its machine vanished", id: lost.id },
	];
}
