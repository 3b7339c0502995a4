import type { FlowFabric } from "../../src/index.ts";
import { median } from "../limits/sqlite-writes.ts";

const ASK = { workerId: "bench", instanceId: "bench", waitMs: 30_000 };

/** Suspend → signal → held again by a worker that waits for work: milliseconds, the median, after a warm-up. */
export async function resumeTime(
	{ ff }: { ff: FlowFabric },
	count: number,
	warmUp: number,
	between = async (_n: number): Promise<void> => {},
): Promise<number> {
	const { leases, waitpoints, executions } = ff.backend;
	const times: number[] = [];
	for (let n = 0; n < warmUp + count; n++) {
		const { id } = await executions.create({ kind: "agent" });
		const [claimed] = await leases.claim(ASK);
		if (!claimed) throw new Error("nothing to claim");
		const fence = { leaseId: claimed.lease.id, epoch: claimed.lease.epoch };
		// As a worker does that has room for more: it waits for work while its handlers run.
		const again = leases.claim(ASK);
		const startedAt = performance.now();
		const { waitpoints: opened } = await leases.suspend(id, {
			fence,
			reason: "waiting_for_signal",
			condition: { signal: "go" },
			waitpoints: [{ key: "go" }],
		});
		const { id: waitpointId = "", token = "" } = opened[0] ?? {};
		const sent = waitpoints.signal(id, { waitpointId, token, name: "go", payload: { n } });
		const [resumed] = await again;
		if (n >= warmUp) times.push(performance.now() - startedAt);
		await sent;
		if (resumed?.signals[0]?.name !== "go") throw new Error("it went on without its signal");
		await leases.complete(id, { fence: { leaseId: resumed.lease.id, epoch: resumed.lease.epoch } });
		await between(n);
	}
	return median(times);
}

/** Executions that wait for a signal nobody sends. */
export async function suspendMany({ ff }: { ff: FlowFabric }, count: number): Promise<void> {
	const { leases, executions } = ff.backend;
	for (let n = 0; n < count; n += 100) {
		await executions.createMany(Array.from({ length: 100 }, () => ({ kind: "agent" })));
		const claimed = await leases.claim({ ...ASK, max: 100 });
		await Promise.all(
			claimed.map(({ id, lease }) =>
				leases.suspend(id, {
					fence: { leaseId: lease.id, epoch: lease.epoch },
					reason: "waiting_for_approval",
					condition: { signal: "yes" },
					waitpoints: [{ key: "yes" }],
					timeoutMs: 86_400_000,
				}),
			),
		);
	}
}

const SIGNALS = 10_000;
const COMPARED = 200;

/**
 * The cost of a signal to an execution that has had many, in turns with signals to one that has had none: whatever else
 * the machine does then, it does to both.
 */
export async function signalTimes({ ff }: { ff: FlowFabric }): Promise<{ last: number; first: number }> {
	const busy = await collecting(ff);
	for (let n = 0; n < SIGNALS - COMPARED; n++) await busy(n);
	const other = await collecting(ff);
	const last: number[] = [];
	const first: number[] = [];
	for (let n = 0; n < COMPARED; n++) {
		last.push(await busy(SIGNALS - COMPARED + n));
		first.push(await other(n));
	}
	return { last: median(last), first: median(first) };
}

/** An execution that every signal counts for, and never enough of them; each call sends one and tells how long it took. */
async function collecting(ff: FlowFabric): Promise<(n: number) => Promise<number>> {
	const { leases, waitpoints, executions } = ff.backend;
	const { id } = await executions.create({ kind: "collector" });
	const [claimed] = await leases.claim({ ...ASK, kinds: ["collector"] });
	if (claimed?.id !== id) throw new Error("another was claimed");
	const { waitpoints: opened } = await leases.suspend(id, {
		fence: { leaseId: claimed.lease.id, epoch: claimed.lease.epoch },
		reason: "waiting_for_signal",
		condition: {
			allOf: [{ count: { n: 1000, distinctBy: "source", match: "vote" } }, { signal: "close" }],
		},
		waitpoints: [{ key: "votes" }],
	});
	const { id: waitpointId = "", token = "" } = opened[0] ?? {};
	return async (n) => {
		const startedAt = performance.now();
		const source = { type: "voter", identity: String(n) };
		await waitpoints.signal(id, { waitpointId, token, name: "vote", payload: { n }, source });
		return performance.now() - startedAt;
	};
}
