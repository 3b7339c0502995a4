import { execFileSync } from "node:child_process";
import type { Target } from "../target.ts";
import { batchSubmit } from "./batch-submit.ts";

const CLAIM = 16;

/** Microseconds for one claim and its complete while about `queued` others wait. */
export async function backlog(target: Pick<Target, "ff">, queued: number, count: number): Promise<number> {
	const { backend } = target.ff;
	await batchSubmit(target, queued + count);
	// What so many submits have left the system to write would be paid for by the first who wait for the disk.
	execFileSync("sync");
	const who = { workerId: "bench", instanceId: "bench" };
	const startedAt = performance.now();
	for (let done = 0; done < count; ) {
		const claimed = await backend.leases.claim({ ...who, max: CLAIM });
		await Promise.all(
			claimed.map(({ id, lease }) =>
				backend.leases.complete(id, { fence: { leaseId: lease.id, epoch: lease.epoch }, result: { ok: true } }),
			),
		);
		done += claimed.length;
		if (claimed.length === 0) throw new Error("nothing to claim although work waits");
	}
	return ((performance.now() - startedAt) * 1000) / count;
}
