import { FlowFabricError } from "../../src/contract/errors.ts";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import type { Random } from "./random.ts";

/** A lease somebody holds, or believes to hold. */
export interface Held {
	id: string;
	fence: { leaseId: string; epoch: number };
}

/** What a holder can do under its lease: the command to judge by, and the call. */
export const leaseRequests = {
	complete: ({ id, fence }: Held) => ({
		command: { op: "complete", fence, result: null },
		call: (backend: LocalBackend) => backend.leases.complete(id, { fence }),
	}),
	renew: ({ id, fence }: Held) => ({
		command: { op: "renew", fence },
		call: async (backend: LocalBackend) => {
			const [lease] = await backend.leases.renew({ leases: [{ executionId: id, ...fence }] });
			if (lease?.error) throw new FlowFabricError(lease.error.code);
			return lease ?? {};
		},
	}),
	fail: ({ id, fence }: Held, random: Random) => {
		const category = random.pick(["error", "permanent"]);
		return {
			command: { op: "fail", fence, reason: "no", category, jitter: 0 },
			call: (backend: LocalBackend) => backend.leases.fail(id, { fence, reason: "no", category }),
		};
	},
	release: ({ id, fence }: Held) => ({
		command: { op: "release", fence },
		call: (backend: LocalBackend) => backend.leases.release(id, { fence }),
	}),
	delay: ({ id, fence }: Held) => ({
		command: { op: "delay", fence, delayMs: 100 },
		call: (backend: LocalBackend) => backend.leases.delay(id, { fence, delayMs: 100 }),
	}),
	progress: ({ id, fence }: Held) => ({
		command: { op: "progress", fence, progress: { percent: 50 } },
		call: (backend: LocalBackend) => backend.leases.progress(id, { fence, percent: 50 }),
	}),
	cancel: ({ id, fence }: Held) => ({
		command: { op: "cancel", fence, mode: "graceful", graceMs: 100, actor: "w" },
		call: (backend: LocalBackend) => backend.executions.cancel(id, { fence }),
	}),
} as const satisfies Record<
	string,
	(held: Held, random: Random) => { command: object; call: (backend: LocalBackend) => Promise<object> }
>;
